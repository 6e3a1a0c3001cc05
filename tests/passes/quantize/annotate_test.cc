// Decisions of quantize_annotate: what they are on small graphs, that making one edits nothing, and
// conflicts.
#include "passes/quantize/annotate.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kPolicy[] = R"(policy small
spec a = u8 affine
weight w = i8 symmetric axis=0
op linear(a, w)
op matmul(a, w axis=-1)
op add(a, a) -> a
fuse linear + relu
propagate a: cat, reshape, permute
)";

absl::StatusOr<QuantDecision> Decide(const Module& module, absl::string_view policy_text,
                                     const std::vector<std::string>& exclude = {}) {
  const absl::StatusOr<QuantPolicy> policy = LoadQuantPolicy(policy_text);
  if (!policy.ok()) return policy.status();
  const QuantCandidates candidates = CollectQuantCandidates(module, *policy);
  return DecideQuantization(module, candidates, *policy, exclude);
}

// The decision as text; the graphs must be the same afterwards.
std::string Text(absl::string_view graph, absl::string_view policy = kPolicy,
                 const std::vector<std::string>& exclude = {}) {
  const auto module = Parse(graph);
  const uint64_t epoch = module->main()->epoch();
  const absl::StatusOr<QuantDecision> decision = Decide(*module, policy, exclude);
  EXPECT_EQ(module->main()->epoch(), epoch);
  return decision.ok() ? ToString(*decision) : std::string(decision.status().message());
}

constexpr char kNetwork[] = R"(
  func @main(%x: f32[2, 4], %w: f32[3, 4] {param="w", initial=dense<1.0>}, %n: f32[4, 3]) {
    %0 = linear(%x, %w, none)  loc("fc1")
    %1 = relu(%0)
    %2 = matmul(%x, %n)  loc("fc2")
    %3 = cat(%1, %1, dim=1)
    %4 = cat(%1, %2, dim=1)
    %5 = add(%3, %4)  loc("sum")
    return %5
  })";

TEST(QuantDecision, SaysWhatIsQuantizedAndWhyOthersAreNot) {
  EXPECT_EQ(Text(kNetwork),
            "%3 (linear, from \"fc1\"): quantized: linear + relu\n"
            "%5 (matmul, from \"fc2\"): float: operand 1 (other) is not constant\n"
            "%6 (cat): quantized: propagates\n"
            "%7 (cat): float: operand 1 is not quantized\n"
            "%8 (add, from \"sum\"): quantized: add\n"
            "operand 0 of %3 (linear, from \"fc1\"): u8 affine tensor min_max group=0\n"
            "operand 1 of %3 (linear, from \"fc1\"): i8 symmetric axis=0 min_max group=1\n"
            "operand 0 of %6 (cat): u8 affine tensor min_max group=2\n"
            "operand 1 of %6 (cat): u8 affine tensor min_max group=2\n"
            "%6 (cat): u8 affine tensor min_max group=2\n"
            "operand 0 of %8 (add, from \"sum\"): u8 affine tensor min_max group=2\n"
            "operand 1 of %8 (add, from \"sum\"): u8 affine tensor min_max group=3\n"
            "%8 (add, from \"sum\"): u8 affine tensor min_max group=4\n");
}

TEST(QuantDecision, ExclusionsAreByNameAndByOp) {
  const std::string by_name = Text(kNetwork, kPolicy, {"fc*"});
  EXPECT_THAT(by_name, HasSubstr("(linear, from \"fc1\"): float: excluded by name fc*"));
  EXPECT_THAT(by_name, HasSubstr("%6 (cat): float: operand 0 is not quantized"));
  EXPECT_THAT(by_name, HasSubstr("(add, from \"sum\"): quantized"));
  EXPECT_THAT(Text(kNetwork, kPolicy, {"add"}),
              HasSubstr("(add, from \"sum\"): float: excluded by op add"));
  // A node that is excluded ends no pattern.
  EXPECT_THAT(Text(kNetwork, kPolicy, {"relu"}),
              HasSubstr("(linear, from \"fc1\"): quantized: linear\n"));
}

TEST(QuantDecision, ExclusionsThatMeetNothingAreTold) {
  const auto module = Parse(kNetwork);
  const absl::StatusOr<QuantDecision> decision =
      Decide(*module, kPolicy, {"fc*", "head*", "softmax"});
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(decision->unmet, testing::ElementsAre("head*", "softmax"));
}

TEST(QuantDecision, DtypesAndScalarsStayFloat) {
  EXPECT_THAT(
      Text(R"(func @main(%i: i32[2], %d: f64[2], %x: f32[2]) {
    %0 = add(%i, %i)
    %1 = add(%d, %d)
    %s = constant(dense<2.0>) : f32[]
    %2 = add(%x, %s)
    return %0, %1, %2
  })"),
      testing::AllOf(HasSubstr("operand 0 (self) is i32"), HasSubstr("operand 0 (self) is f64"),
                     HasSubstr("operand 1 (other) is a constant of one element"),
                     Not(HasSubstr("quantized: "))));
}

TEST(QuantDecision, ViewsAreLeftWhereNothingQuantizedReadsThem) {
  const std::string text = Text(R"(
  func @main(%x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>}) {
    %0 = linear(%x, %w, none)
    %1 = reshape(%0, size=[8])
    %2 = permute(%0, dims=[1, 0])
    %3 = permute(%2, dims=[1, 0])
    %4 = linear(%3, %w, none)
    return %1, %4
  })");
  EXPECT_THAT(text, HasSubstr("(reshape): float: nothing quantized reads it"));
  EXPECT_THAT(text, HasSubstr("%4 (permute): quantized: propagates"));
  EXPECT_THAT(text, HasSubstr("%5 (permute): quantized: propagates"));
  // One group from the first linear's result to the second linear.
  EXPECT_THAT(text, HasSubstr("operand 0 of %4 (permute): u8 affine tensor min_max group=2"));
  EXPECT_THAT(text, HasSubstr("operand 0 of %6 (linear): u8 affine tensor min_max group=2"));
  // The weight that both take is one group as well.
  EXPECT_THAT(text, HasSubstr("operand 1 of %6 (linear): i8 symmetric axis=0 min_max group=1"));
}

TEST(QuantDecision, TheSumGoesWithTheLaterProduct) {
  const std::string text = Text(R"(
  func @main(%x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>}) {
    %0 = linear(%x, %w, none)
    %1 = linear(%x, %w, none)
    %2 = add(%0, %1)
    return %2
  })",
                                "policy p\nspec a = u8 affine\nweight w = i8 symmetric axis=0\n"
                                "op linear(a, w)\nfuse linear + add(a)\n");
  EXPECT_THAT(text, HasSubstr("%2 (linear): quantized: linear\n"));
  EXPECT_THAT(text, HasSubstr("%3 (linear): quantized: linear + add\n"));
  EXPECT_THAT(text, HasSubstr("operand 0 of %4 (add): u8"));
  EXPECT_THAT(text, Not(HasSubstr("operand 1 of %4 (add): u8")));
}

TEST(QuantDecision, AValueWithTwoUsersEndsAPattern) {
  for (const char* users : {"%1 = relu(%0)\n%2 = exp(%0)", "%2 = exp(%0)\n%1 = relu(%0)"}) {
    const std::string text =
        Text(absl::StrCat("func @main(%x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>}) {\n"
                          "%0 = linear(%x, %w, none)\n",
                          users, "\nreturn %1, %2\n}"));
    EXPECT_THAT(text, HasSubstr("%2 (linear): quantized: linear\n")) << users;
  }
}

TEST(QuantDecision, NotesThatAreThereStay) {
  const std::string text = Text(R"(
  func @main(%x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>}) {
    %0 = linear(%x, %w, none) note(operand 0 quant="i8 symmetric mse")
    return %0
  })");
  EXPECT_THAT(text, HasSubstr("operand 0 of %2 (linear): i8 symmetric tensor mse group=0"));
  EXPECT_THAT(text, HasSubstr("operand 1 of %2 (linear): i8 symmetric axis=0 min_max group=1"));
}

TEST(QuantDecision, AConflictNamesBothPlaces) {
  EXPECT_EQ(Text(R"(
  func @main(%x: f32[2, 4], %y: f32[2, 4]) {
    %0 = add(%x, %y) loc("a")
    %1 = cat(%0, %0) loc("join") note(operand 1 quant="i8 symmetric")
    return %1
  })"),
            "operand 1 of %3 (cat, from \"join\") is to be quantized as i8 symmetric tensor "
            "min_max and %2 (add, from \"a\") as u8 affine tensor min_max, and they share their "
            "parameters");
  EXPECT_THAT(Text(R"(
  func @main(%x: f32[2], %y: f32[2]) {
    %0 = add(%x, %y) note(operand 0 quant="u8 affine group=4", operand 1 quant="u4 affine group=4")
    return %0
  })"),
              HasSubstr("and operand 1 of %2 (add) as u4 affine tensor min_max"));
}

TEST(QuantDecision, ABadNoteIsAnErrorThatNamesThePlace) {
  EXPECT_THAT(Text("func @main(%x: f32[2] {note(quant=\"u8 afine\")}) { return %x }"),
              HasSubstr("note of input %x: quantization spec \"u8 afine\", column 4"));
  EXPECT_THAT(Text("func @main(%x: f32[2] {note(quant=\"u8 affine group=x\")}) { return %x }"),
              HasSubstr("no group x"));
}

TEST(QuantDecision, NestedGraphsSeeCapturedConstants) {
  const std::string text = Text(R"(
  func @main(%p: bool[], %x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>}, %n: f32[4, 4]) {
    %0 = cond(%p, %x, %w, %n) : f32[2, 4] {
      then_graph(%a: f32[2, 4], %b: f32[4, 4], %c: f32[4, 4]) {
        %0 = linear(%a, %b, none)
        return %0
      }
      else_graph(%a: f32[2, 4], %b: f32[4, 4], %c: f32[4, 4]) {
        %0 = linear(%a, %c, none)
        return %0
      }
    }
    return %0
  })");
  EXPECT_THAT(text, HasSubstr("(linear): quantized: linear"));
  EXPECT_THAT(text, HasSubstr("(linear): float: operand 1 (weight) is not constant"));
}

TEST(QuantDecision, AWeightThatIsWrittenIsNotConstant) {
  EXPECT_THAT(Text(R"(
  func @main(%x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>})
      -> (f32[2, 4], f32[4, 4] {writes=%w}) {
    %0 = linear(%x, %w, none)
    %1 = add(%w, %w)
    return %0, %1
  })"),
              HasSubstr("(linear): float: operand 1 (weight) is not constant"));
}

TEST(QuantDecision, AWeightMayBeComputedFromConstants) {
  EXPECT_THAT(Text(R"(
  func @main(%x: f32[2, 4], %w: f32[4, 4] {initial=dense<1.0>}) {
    %0 = permute(%w, dims=[1, 0])
    %1 = matmul(%x, %0)
    return %1
  })"),
              HasSubstr("operand 1 of %3 (matmul): i8 symmetric axis=-1 min_max group=1"));
}

TEST(QuantDecision, TheFirstRowThatHoldsIsTaken) {
  const char* policy =
      "policy p\nspec a = u8 affine\nweight w = i8 symmetric axis=0\n"
      "op matmul(a, w axis=-1)\nop matmul(a, a)\n";
  const std::string text = Text(R"(
  func @main(%x: f32[4, 4], %w: f32[4, 4] {initial=dense<1.0>}) {
    %0 = matmul(%x, %w)
    %1 = matmul(%x, %0)
    return %1
  })",
                                policy);
  EXPECT_THAT(text, HasSubstr("operand 1 of %2 (matmul): i8 symmetric axis=-1"));
  EXPECT_THAT(text, HasSubstr("operand 1 of %3 (matmul): u8 affine"));
}

}  // namespace
}  // namespace weft
