// The semantic check by changed regions, on edits made by hand.
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/check/semantics_checker.h"
#include "api/compiler.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/rewrite/driver.h"
#include "passes/engine/rewrite/rule.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using namespace pattern;  // NOLINT
using testing::HasSubstr;

class SemanticsTest : public testing::Test {
 protected:
  using Edit = std::function<Value*(Builder&, const Node& root)>;

  // Puts what `edit` builds in the place of the result of node `index`, and
  // checks the graph before against the one after.
  absl::Status CheckEdit(const std::string& text, int index, NumericContract contract,
                         const Edit& edit) {
    auto module = Parse(text);
    auto before = module->Clone();
    const ModuleNodeIds ids = NodeIdsOf(*module);
    Graph* graph = module->main();
    Node* root = graph->first_node();
    while (index-- > 0) root = root->next();
    Builder b(graph, root);
    Value* by = edit(b, *root);
    EXPECT_TRUE(b.status().ok()) << b.status();
    root->result()->ReplaceAllUsesWith(by);
    graph->EraseNode(root);
    EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
    return checker_.Check(*before, *module, contract, ids);
  }

  SemanticsChecker checker_;
};

TEST_F(SemanticsTest, EqualLayersAreComparedOnce) {
  constexpr int kLayers = 96;
  std::string text = "func @main(%x0: f32[s0, 4], %y: f32[s0, 4]) -> f32[s0, 4] {\n";
  for (int i = 0; i < kLayers; ++i) {
    absl::StrAppend(&text, "  %n", i, " = neg(%y) : f32[s0, 4]\n");
    absl::StrAppend(&text, "  %a", i, " = add(%x", i, ", %n", i, ") : f32[s0, 4]\n");
    absl::StrAppend(&text, "  %x", i + 1, " = tanh(%a", i, ") : f32[s0, 4]\n");
  }
  absl::StrAppend(&text, "  return %x", kLayers, "\n}\n");
  auto module = Parse(text);
  CompileOptions options;
  options.passes = "canonicalize";
  options.verify = VerifyLevel::kSemantics;
  auto result = Compile(*module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->semantics.regions, kLayers);
  EXPECT_EQ(result->semantics.remembered, kLayers - 1);
  EXPECT_EQ(result->semantics.widened, 0);
  EXPECT_EQ(result->semantics.whole, 0);
}

TEST_F(SemanticsTest, MergedNodesAreEqualByStructure) {
  const absl::Status status = CheckEdit(
      "func @main(%x: f32[4]) -> f32[4] {\n"
      "  %0 = tanh(%x) : f32[4]\n"
      "  %1 = tanh(%x) : f32[4]\n"
      "  %2 = add(%0, %1) : f32[4]\n"
      "  return %2\n}\n",
      1, NumericContract::kBitExact,
      [](Builder&, const Node& root) { return root.prev()->result(); });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(checker_.stats().runs, 0);
}

TEST_F(SemanticsTest, WhatHoldsInPlaceIsNoFault) {
  // Equal only because the operand is a relu, which other nodes use too.
  const std::string text =
      "func @main(%x: f32[4]) -> (f32[4], f32[4]) {\n"
      "  %0 = relu(%x) : f32[4]\n"
      "  %1 = relu(%0) : f32[4]\n"
      "  %2 = tanh(%1) : f32[4]\n"
      "  return %2, %0\n}\n";
  const absl::Status status = CheckEdit(text, 1, NumericContract::kBitExact,
                                        [](Builder&, const Node& root) { return root.operand(0); });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(checker_.stats().widened, 0);
  EXPECT_EQ(checker_.stats().whole, 0);
}

TEST_F(SemanticsTest, ContextsMayHoldOneValueTwice) {
  const std::string text =
      "func @main(%x: f32[4]) -> (f32[4], f32[4], f32[4]) {\n"
      "  %0 = sin(%x) : f32[4]\n"
      "  %1 = sin(%x) : f32[4]\n"
      "  %2 = relu(%1) : f32[4]\n"
      "  %3 = relu(%2) : f32[4]\n"
      "  %4 = add(%3, %0) : f32[4]\n"
      "  return %4, %2, %0\n}\n";
  const absl::Status status = CheckEdit(text, 3, NumericContract::kBitExact,
                                        [](Builder&, const Node& root) { return root.operand(0); });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(checker_.stats().widened, 1);
}

TEST_F(SemanticsTest, WhatTheRestOfTheGraphHidesIsAFault) {
  const std::string text =
      "func @main(%x: f32[4], %y: f32[4]) -> f32[4] {\n"
      "  %0 = sub(%x, %y) : f32[4]\n"
      "  %1 = abs(%0) : f32[4]\n"
      "  return %1\n}\n";
  const absl::Status status =
      CheckEdit(text, 0, NumericContract::kValueSafe, [](Builder& b, const Node& root) {
        return b.Op(ops::sub, {root.operand(1), root.operand(0)});
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(checker_.stats().whole, 0);
}

TEST_F(SemanticsTest, SignsOfZerosAreBits) {
  const std::string text =
      "func @main(%x: f32[s0], %y: f32[s0]) -> f32[s0] {\n"
      "  %0 = sub(%x, %y) : f32[s0]\n"
      "  %1 = neg(%0) : f32[s0]\n"
      "  return %1\n}\n";
  const Edit swap = [](Builder& b, const Node& root) {
    const Node* sub = root.operand(0)->node();
    return b.Op(ops::sub, {sub->operand(1), sub->operand(0)});
  };
  EXPECT_TRUE(CheckEdit(text, 1, NumericContract::kValueSafe, swap).ok());
  const absl::Status exact = CheckEdit(text, 1, NumericContract::kBitExact, swap);
  EXPECT_EQ(exact.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exact.message()), HasSubstr("want -0"));
}

// Four fifths of a step move a result by one step at most.
TEST_F(SemanticsTest, QuantizedResultsMayMoveByAStep) {
  const std::string text = R"(
    func @main(%x: f32[64]) {
      %s = constant(dense<0.25>) : f32[]
      %0 = quantize_linear(%x, %s, none, dtype=i8)
      return %0
    })";
  const auto check = [&](NumericContract contract, double added) {
    return CheckEdit(text, 1, contract, [&](Builder& b, const Node& root) {
      Value* moved = b.Op(ops::add, {root.operand(0), b.Scalar(DType::kF32, added)});
      Value* const operands[] = {moved, root.operand(1), nullptr};
      return b.CreateOne(ops::quantize_linear, operands, root.attr_list());
    });
  };
  EXPECT_TRUE(check(NumericContract::kReassociating, 0.2).ok());
  EXPECT_FALSE(check(NumericContract::kValueSafe, 0.2).ok());
  EXPECT_FALSE(check(NumericContract::kReassociating, 0.5).ok());
}

TEST_F(SemanticsTest, AFaultShowsItsRegionAlone) {
  std::string text =
      "func @main(%x: f32[s0, 3], %y: f32[s0, 3]) -> f32[s0, 3] {\n"
      "  %0 = tanh(%x) : f32[s0, 3]\n"
      "  %1 = exp(%y) : f32[s0, 3]\n"
      "  %2 = sub(%0, %1) : f32[s0, 3]\n"
      "  %3 = atan(%2) : f32[s0, 3]\n"
      "  return %3\n}\n";
  const absl::Status status =
      CheckEdit(text, 2, NumericContract::kApproximate, [](Builder& b, const Node& root) {
        return b.Op(ops::sub, {root.operand(1), root.operand(0)});
      });
  ASSERT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_NE(checker_.failed().before, nullptr);
  EXPECT_THAT(std::string(status.message()), HasSubstr("results change (seed "));
  EXPECT_THAT(PrintModule(*checker_.failed().before), HasSubstr("= sub("));
}

TEST_F(SemanticsTest, EmptySizesAreTried) {
  // No element is true: any() says so for every size, all() for every size but 0.
  const std::string text =
      "func @main(%x: bool[s0]) -> bool[] {\n"
      "  %0 = logical_not(%x) : bool[s0]\n"
      "  %1 = logical_and(%x, %0) : bool[s0]\n"
      "  %2 = any(%1, dim=[0]) : bool[]\n"
      "  return %2\n}\n";
  const Edit all = [](Builder& b, const Node& root) {
    return b.Op(ops::all, {root.operand(0)}, {{"dim", std::vector<int64_t>{0}}});
  };
  const absl::Status status = CheckEdit(text, 2, NumericContract::kBitExact, all);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("want 0"));
  std::string of_some = text;
  of_some.replace(of_some.find(" {"), 2, " where 1 <= s0 <= 9 {");
  EXPECT_TRUE(CheckEdit(of_some, 2, NumericContract::kBitExact, all).ok());
}

TEST_F(SemanticsTest, ZerosThatOtherRegionsTurnAreNotAmplified) {
  // abs goes because of what stands six nodes before it, beyond a difference whose
  // zeros turn, which is allowed there; the division makes them infinities.
  auto module = Parse(
      "func @main(%x: f32[4], %y: f32[4]) -> f32[4] {\n"
      "  %one = constant(dense<1.0>) : f32[]\n"
      "  %0 = sub(%x, %y) : f32[4]\n"
      "  %1 = neg(%0) : f32[4]\n"
      "  %2 = div(%one, %1) : f32[4]\n"
      "  %3 = exp(%2) : f32[4]\n"
      "  %4 = atan(%3) : f32[4]\n"
      "  %5 = tanh(%4) : f32[4]\n"
      "  %6 = asinh(%5) : f32[4]\n"
      "  %7 = sinh(%6) : f32[4]\n"
      "  %8 = tan(%7) : f32[4]\n"
      "  %9 = abs(%8) : f32[4]\n"
      "  return %9\n}\n");
  auto before = module->Clone();
  const ModuleNodeIds ids = NodeIdsOf(*module);
  Graph* graph = module->main();
  for (Node* node = graph->first_node(); node != graph->return_node();) {
    Node* next = node->next();
    Value* by = nullptr;
    if (node->Is(ops::neg)) {
      const Node* sub = node->operand(0)->node();
      by = Builder(graph, node).Op(ops::sub, {sub->operand(1), sub->operand(0)});
    }
    if (node->Is(ops::abs)) by = node->operand(0);
    if (by != nullptr) {
      node->result()->ReplaceAllUsesWith(by);
      graph->EraseNode(node);
    }
    node = next;
  }
  // Seen as a whole, the graphs differ.
  EXPECT_FALSE(CompareSemantics(*before, *module, NumericContract::kValueSafe).ok());
  const absl::Status status = checker_.Check(*before, *module, NumericContract::kValueSafe, ids);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GE(checker_.stats().widened, 4);
  EXPECT_EQ(checker_.stats().whole, 0);
}

TEST_F(SemanticsTest, NestedGraphsGetEdgeValues) {
  // Equal but for what is not finite.
  const std::string text =
      "func @main(%p: bool[], %x: f32[4]) -> f32[4] {\n"
      "  %0 = cond(%p, %x) : f32[4] {\n"
      "    then_graph(%a: f32[4]) -> f32[4] {\n"
      "      %0 = sub(%a, %a) : f32[4]\n"
      "      return %0\n"
      "    }\n"
      "    else_graph(%a: f32[4]) -> f32[4] {\n"
      "      return %a\n"
      "    }\n"
      "  }\n"
      "  return %0\n}\n";
  std::string zeros = text;
  zeros.replace(zeros.find("sub(%a, %a)"), 11,
                "lt(%a, %a) : bool[4]\n      %1 = convert(%0, dtype=f32)");
  zeros.replace(zeros.find("return %0"), 9, "return %1");
  const absl::Status status =
      checker_.Check(*Parse(text), *Parse(zeros), NumericContract::kValueSafe, {});
  ASSERT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("edge values"));
}

TEST_F(SemanticsTest, LoopsWithoutEndAreNotRunToTheirEnd) {
  // Halves until nothing is left, which no infinity comes to, and says nothing of
  // its count.
  const std::string text =
      "func @main(%n: i64[], %p: bool[], %x: f32[]) -> f32[] {\n"
      "  %0 = loop(%n, %p, %x, num_carried=1) : f32[] {\n"
      "    body(%i: i64[], %go: bool[], %a: f32[]) -> (bool[], f32[]) {\n"
      "      %half = constant(dense<0.5>) : f32[]\n"
      "      %0 = mul(%a, %half) : f32[]\n"
      "      %1 = ne(%0, %a) : bool[]\n"
      "      %2 = logical_or(%1, %go) : bool[]\n"
      "      return %2, %0\n"
      "    }\n"
      "  }\n"
      "  return %0\n}\n";
  std::string other = text;
  other.replace(other.find("mul(%a, %half)"), 14, "mul(%half, %a)");
  const absl::Status status =
      checker_.Check(*Parse(text), *Parse(other), NumericContract::kValueSafe, {});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(checker_.stats().runs, 40);
}

// x - y - z = x - (y + z), which rounds differently, and a rule that does so too
// but says that it does not.
constexpr Rule kRounding[] = {
    {"sub-sub",
     "x - y - z = x - (y + z)",
     NumericContract::kReassociating,
     Op(ops::sub, Op(ops::sub, x, y), z),
     {},
     Op(ops::sub, x, Op(ops::add, y, z))},
    {"div-three",
     "x / 3 = x * (1/3)",
     NumericContract::kBitExact,
     Op(ops::div, x, Splat(3.0)),
     {},
     Op(ops::mul, x, Splat(1.0 / 3))},
};

class RoundingPass : public Pass {
 public:
  absl::string_view name() const override { return "rounding"; }
  absl::string_view doc() const override { return "Two rules that round differently."; }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    const absl::Span<const Rule> theme = kRounding;
    return ApplyRules(module, context, {&theme, 1});
  }
};

TEST_F(SemanticsTest, EachRewriteIsHeldToTheContractOfItsRule) {
  const std::string text =
      "func @main(%x: f32[8], %y: f32[8], %z: f32[8]) -> f32[8] {\n"
      "  %three = constant(dense<3.0>) : f32[]\n"
      "  %0 = sub(%x, %y) : f32[8]\n"
      "  %1 = sub(%0, %z) : f32[8]\n"
      "  %2 = div(%1, %three) : f32[8]\n"
      "  return %2\n}\n";
  PassRegistry registry(BuiltinPasses());
  registry.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<RoundingPass>(); });
  CompileOptions options;
  options.passes = "rounding";
  options.registry = &registry;
  options.context.admitted = NumericContract::kReassociating;
  options.verify = VerifyLevel::kSemantics;
  auto module = Parse(text);
  auto result = Compile(*module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.Counter("rewrites"), 2);
  options.verify = VerifyLevel::kRewrites;
  module = Parse(text);
  result = Compile(*module, options);
  ASSERT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("rewrite 2 of the pass, div-three: "));
}

TEST_F(SemanticsTest, CompileChecksEachRewrite) {
  auto module = Parse(
      "func @main(%x: f32[s0], %y: f32[s0]) -> f32[s0] {\n"
      "  %0 = neg(%y) : f32[s0]\n"
      "  %1 = add(%x, %0) : f32[s0]\n"
      "  %2 = neg(%1) : f32[s0]\n"
      "  return %2\n}\n");
  CompileOptions options;
  options.passes = "canonicalize";
  options.verify = VerifyLevel::kRewrites;
  auto result = Compile(*module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  // Two rewrites, one by one and together.
  EXPECT_EQ(result->semantics.regions, 3);
  EXPECT_EQ(module->main()->num_nodes(), 1);
}

}  // namespace
}  // namespace weft
