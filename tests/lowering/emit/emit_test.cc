// The room that emitters share: texts of sizes, indices and guards, spellings, and the levels of
// statements.
#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lowering/emit/loop_text.h"
#include "lowering/emit/placement.h"
#include "lowering/emit/scalar_spelling.h"
#include "lowering/emit/size_table.h"

namespace weft::emit {
namespace {

using testing::ElementsAre;

const SymInt kS0 = SymInt::Symbol("s0");

TEST(SizeTable, NumbersEachExpressionOnce) {
  SizeTable sizes;
  EXPECT_EQ(sizes.Text(SymInt(-3)), "-3L");
  EXPECT_EQ(sizes.Text(SymInt(std::numeric_limits<int64_t>::min())), "(-0x7fffffffffffffffL - 1)");
  EXPECT_EQ(sizes.Text(kS0 * 2), "z0");
  EXPECT_EQ(sizes.Text(kS0), "z1");
  EXPECT_EQ(sizes.Text(kS0 + kS0), "z0");
  EXPECT_THAT(sizes.Take(), ElementsAre(kS0 * 2, kS0));
}

// One outer loop and two inner ones, the last of which runs along the lanes.
LoopOrder Rows() {
  LoopOrder order;
  order.num_outer = 1;
  order.vector_loop = 2;
  order.names = {"o0", "n0", "j"};
  order.levels = {0, 1, 2};
  order.vector_level = 2;
  return order;
}

TEST(LoopText, LinearInTheLoops) {
  SizeTable sizes;
  EXPECT_EQ(LinearText(5, {kS0, 0, 1}, Rows(), "", &sizes), "5L + o0 * z0 + j");
  EXPECT_EQ(LinearText(0, {0, 3, 2}, Rows(), "l", &sizes), "0L + n0 * 3L + (j + l) * 2L");
}

TEST(LoopText, GuardsAreOneConditionEach) {
  SizeTable sizes;
  Access access;
  EXPECT_EQ(GuardText(access, Rows(), "", &sizes), "true");
  access.guards = {{-2, {0, 0, 1}, kS0}, {0, {0, 1, 0}, 4}};
  EXPECT_EQ(GuardText(access, Rows(), "l", &sizes),
            "(u64)(-2L + (j + l)) < (u64)z0 && (u64)(0L + n0) < (u64)4L");
}

Instr Load(std::vector<SymInt> strides) {
  Instr instr;
  instr.op = ScalarOp::kLoad;
  instr.access.arg = 0;
  instr.access.strides = std::move(strides);
  return instr;
}

Instr Make(ScalarOp op, int loop, int a = -1, int b = -1) {
  Instr instr;
  instr.op = op;
  instr.loop = loop;
  instr.operands[0] = a;
  instr.operands[1] = b;
  return instr;
}

TEST(Placement, IsTheInnermostLoopThatAValueDependsOn) {
  Stage stage;
  stage.body = {Load({kS0, 0, 0}),
                Load({0, 1, 0}),
                Load({0, 0, 1}),
                Make(ScalarOp::kAdd, -1, 0, 1),
                Make(ScalarOp::kMul, -1, 3, 2),
                Make(ScalarOp::kIndex, 1),
                Make(ScalarOp::kReduced, 0),
                Make(ScalarOp::kRow, 0)};
  EXPECT_THAT(PlaceBody(stage, Rows(), {{1, false}}, 2),
              ElementsAre(Placement{0, false}, Placement{1, false}, Placement{2, true},
                          Placement{1, false}, Placement{2, true}, Placement{1, false},
                          Placement{1, false}, Placement{2, true}));
}

TEST(Placement, AnAccessDependsOnItsTermsGuardsAndOtherValue) {
  Stage stage;
  stage.body = {Load({0, 0, 1}), Load({1, 0, 0}), Load({1, 0, 0}), Load({1, 0, 0})};
  stage.body[1].access.terms = {{0, 4, 8}};
  stage.body[2].access.guards = {{0, {0, 1, 0}, 4}};
  stage.body[3].access.otherwise = 0;
  EXPECT_THAT(
      PlaceBody(stage, Rows(), {}, 2),
      ElementsAre(Placement{2, true}, Placement{2, true}, Placement{1, false}, Placement{2, true}));
}

// Leaves, conversions and what is made of several instructions have no spelling.
TEST(ScalarSpelling, KnowsOperatorsComparisonsAndCalls) {
  Spelling found;
  ASSERT_TRUE(FindSpelling(ScalarOp::kXor, Dialect::kVectorCc, &found));
  EXPECT_EQ(found.form, SpellingForm::kInfix);
  EXPECT_STREQ(found.text, "^");
  ASSERT_TRUE(FindSpelling(ScalarOp::kLe, Dialect::kVectorCc, &found));
  EXPECT_EQ(found.form, SpellingForm::kCompare);
  EXPECT_STREQ(found.text, "<=");
  ASSERT_TRUE(FindSpelling(ScalarOp::kErfc, Dialect::kVectorCc, &found));
  EXPECT_EQ(found.form, SpellingForm::kCall);
  EXPECT_STREQ(found.text, "w_erfc");
  EXPECT_FALSE(FindSpelling(ScalarOp::kLoad, Dialect::kVectorCc, &found));
  EXPECT_FALSE(FindSpelling(ScalarOp::kConvert, Dialect::kVectorCc, &found));
  EXPECT_FALSE(FindSpelling(ScalarOp::kSigmoid, Dialect::kVectorCc, &found));
}

}  // namespace
}  // namespace weft::emit
