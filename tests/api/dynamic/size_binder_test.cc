// What inputs give to symbols, and the messages for those that break a constraint.
#include "api/dynamic/size_binder.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostTensor Zeros(std::vector<int64_t> dims) { return HostTensor(DType::kF32, dims); }

// The values, or the message.
struct Bound {
  std::vector<int64_t> values;
  std::string error;
};
Bound Bind(const Module& module, std::vector<HostTensor> inputs) {
  const SizeBinder binder(*module.main());
  Bound bound;
  bound.error = std::string(binder.Bind(inputs, &bound.values).message());
  return bound;
}

TEST(SizeBinderTest, BindsBareSymbolsFirstAndSolvesForOthers) {
  const auto module = Parse(R"(
func @main(%a: f32[2*s0 + 1, s1*s0], %b: f32[s0], %c: f32[3*s2, s2 + s0]) {
  return %a, %b, %c
})");
  const SizeBinder binder(*module->main());
  ASSERT_EQ(binder.symbols().size(), 3u);
  const Bound bound = Bind(*module, {Zeros({9, 8}), Zeros({4}), Zeros({6, 6})});
  EXPECT_EQ(bound.error, "");
  EXPECT_THAT(bound.values, ElementsAre(4, 2, 2));  // s0, s1, s2.
  EXPECT_EQ(binder.SourceText(0), "dim 0 of \"b\"");
  EXPECT_EQ(binder.SourceText(1), "dim 1 of \"a\"");
  EXPECT_TRUE(binder.source(0).bare);
  EXPECT_FALSE(binder.source(1).bare);
  EXPECT_EQ(Bind(*module, {Zeros({8, 8}), Zeros({4}), Zeros({6, 6})}).error,
            "input 0 (a): dim 0 is 8 and has to be 2*s0 + 1 = 9, as s0 is 4 (dim 0 of \"b\")");
  EXPECT_EQ(Bind(*module, {Zeros({9, 7}), Zeros({4}), Zeros({6, 6})}).error,
            "input 0 (a): dim 1 is 7, and no s1 makes s0*s1 equal that");
  EXPECT_EQ(Bind(*module, {Zeros({9, 8}), Zeros({4}), Zeros({6, 7})}).error,
            "input 2 (c): dim 1 is 7 and has to be s0 + s2 = 6, as s0 is 4 (dim 0 of \"b\"), "
            "s2 is 2 (by dim 0 of \"c\")");
}

TEST(SizeBinderTest, NamesInputDimSizeAndConstraint) {
  const auto module = Parse(R"(
func @main(%x: f32[s0, s1, 4], %n: symint[s2]) -> f32[s0, s1, 4]
    where 2 <= s0 <= 16, s1 % 8 == 0, 1 <= s2, s0 + s1 <= 64, s1 >= s2 {
  return %x
})");
  const auto error = [&](std::vector<int64_t> dims, int64_t n) {
    return Bind(*module, {Zeros(dims), HostTensor::ScalarInt(DType::kI64, n)}).error;
  };
  EXPECT_EQ(error({2, 8, 4}, 1), "");
  EXPECT_EQ(error({1, 8, 4}, 1), "input 0 (x): dim 0 is 1, outside of 2 <= s0 <= 16");
  EXPECT_EQ(error({17, 8, 4}, 1), "input 0 (x): dim 0 is 17, outside of 2 <= s0 <= 16");
  EXPECT_EQ(error({2, 12, 4}, 1),
            "input 0 (x): dim 1 is 12, which is no multiple of 8: s1 % 8 == 0");
  EXPECT_EQ(error({2, 8, 5}, 1), "input 0 (x): dim 2 is 5 and has to be 4");
  EXPECT_EQ(error({2, 8, 4}, 0), "input 1 (n): the value is 0, outside of 1 <= s2");
  EXPECT_THAT(error({16, 56, 4}, 1),
              HasSubstr("does not hold: s0 is 16 (dim 0 of \"x\"), s1 is 56 (dim 1 of \"x\")"));
  EXPECT_THAT(error({2, 8, 4}, 9), HasSubstr("s2 is 9 (\"n\")"));
  EXPECT_EQ(error({2, 8}, 1), "input 0 (x): expected f32[s0, s1, 4], got f32[2, 8]");
  EXPECT_EQ(Bind(*module, {Zeros({2, 8, 4}), HostTensor()}).error, "input 1 (n) is missing");
  EXPECT_EQ(Bind(*module, {Zeros({2, 8, 4})}).error, "the program takes 2 inputs, got 1");
}

TEST(SizeBinderTest, SaysWhereAConditionComesFrom) {
  const auto module = Parse("func @main(%x: f32[s0, s1]) {\nreturn %x\n}");
  module->symbols().Assume(GreaterEqual(SymInt::Symbol("s0"), SymInt::Symbol("s1")), "a test");
  EXPECT_EQ(Bind(*module, {Zeros({2, 3})}).error,
            "s0 >= s1 does not hold: s0 is 2 (dim 0 of \"x\"), s1 is 3 (dim 1 of \"x\"); it comes "
            "from a test");
}

// An input that nothing reads may be anything, unless it alone says what a size is.
TEST(SizeBinderTest, LeavesUnreadInputsAlone) {
  const auto module = Parse("func @main(%x: f32[s0, 2], %y: f32[s0, 3]) {\nreturn %y\n}");
  EXPECT_THAT(Bind(*module, {Zeros({7}), Zeros({4, 3})}).values, ElementsAre(4));
  const auto other = Parse(R"(
func @main(%x: f32[s0, 2]) {
  %0 = sym_constant(values=[s0], size=[1])
  return %0
})");
  EXPECT_THAT(Bind(*other, {Zeros({7, 2})}).values, ElementsAre(7));
  EXPECT_EQ(Bind(*other, {Zeros({7})}).error, "input 0 (x): expected f32[s0, 2], got f32[7]");
}

TEST(SizeBinderTest, ChecksValuesThatTheProgramHoldsFor) {
  const auto module = Parse(R"(
func @main(%x: f32[2], %k: i64[] {value=dense<3>}) {
  return %x
})");
  EXPECT_EQ(Bind(*module, {Zeros({2}), HostTensor::ScalarInt(DType::kI64, 3)}).error, "");
  EXPECT_EQ(Bind(*module, {Zeros({2}), HostTensor::ScalarInt(DType::kI64, 4)}).error,
            "input 1 (k) differs from the value that the program was made for");
}

}  // namespace
}  // namespace weft
