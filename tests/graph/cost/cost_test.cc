// Costs of single nodes, counted by hand: operations, functions among them, bytes; which ops are
// cheap; what a size counts as.
#include "graph/cost/cost.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

// The node that makes the first output.
struct Parsed {
  explicit Parsed(const std::string& text) : module(Parse(text)) {}
  const Node& node() const { return *module->main()->output(0)->node(); }
  NodeCost cost() const { return CostOf(node()); }

  std::unique_ptr<Module> module;
};

// The cost of the op on these inputs.
NodeCost CostOfOp(const std::string& inputs, const std::string& call) {
  return Parsed(absl::StrCat("func @main(", inputs, ") {\n  %0 = ", call, "\n  return %0\n}\n"))
      .cost();
}

TEST(NodeCost, IsSymbolic) {
  const NodeCost cost = CostOfOp("%x: f32[s0, 4], %w: f32[5, 4], %b: f32[5]", "linear(%x, %w, %b)");
  EXPECT_EQ(cost.flops.ToString(), "45*s0");
  EXPECT_EQ(cost.functions.ToString(), "0");
  EXPECT_EQ(cost.read.ToString(), "16*s0 + 100");
  EXPECT_EQ(cost.written.ToString(), "20*s0");
}

TEST(NodeCost, OfMatmuls) {
  EXPECT_EQ(CostOfOp("%x: f32[3, 4], %w: f32[4, 5]", "matmul(%x, %w)").flops.ToString(), "120");
  EXPECT_EQ(CostOfOp("%x: f32[s0, 4], %w: f32[5, 4]", "linear(%x, %w, none)").flops.ToString(),
            "40*s0");
  // Two operands over i, j and k.
  EXPECT_EQ(CostOfOp("%x: f32[3, 4], %w: f32[4, 5]", "einsum(%x, %w, equation=\"ij,jk->ik\")")
                .flops.ToString(),
            "120");
}

// Each element of the output meets a kernel; of a transposed one, each element of the input.
TEST(NodeCost, OfConvolutions) {
  EXPECT_EQ(CostOfOp("%x: f32[1, 2, 6], %w: f32[3, 2, 3], %b: f32[3]",
                     "convolution(%x, %w, %b, stride=[1], padding=[0], dilation=[1])")
                .flops.ToString(),
            "156");
  EXPECT_EQ(CostOfOp("%x: f32[1, 2, 4], %w: f32[2, 3, 3]",
                     "convolution(%x, %w, none, stride=[2], padding=[0], dilation=[1], "
                     "transposed=true, output_padding=[0])")
                .flops.ToString(),
            "144");
}

// 2 x 5 queries of 8, 7 keys, values of 6: two matmuls and 6 operations for each score.
TEST(NodeCost, OfAttention) {
  const std::string inputs = "%q: f32[2, 5, 8], %k: f32[2, 7, 8], %v: f32[2, 7, 6]";
  const int scores = 2 * 5 * 7;
  EXPECT_EQ(CostOfOp(inputs, "scaled_dot_product_attention(%q, %k, %v, none)").flops.ToString(),
            absl::StrCat(2 * scores * 8 + 6 * scores + 2 * scores * 6));
  EXPECT_EQ(CostOfOp(inputs + ", %m: f32[5, 7]", "scaled_dot_product_attention(%q, %k, %v, %m)")
                .flops.ToString(),
            absl::StrCat(2 * scores * 8 + 7 * scores + 2 * scores * 6));
}

TEST(NodeCost, OfReductionsAndWindows) {
  const NodeCost softmax = CostOfOp("%x: f32[s0, 8]", "softmax(%x, dim=1)");
  EXPECT_EQ(softmax.flops.ToString(), "40*s0");
  EXPECT_EQ(softmax.functions.ToString(), "16*s0");
  EXPECT_EQ(CostOfOp("%x: f32[s0, 8]", "sum(%x, dim=[1])").flops.ToString(), "8*s0");
  EXPECT_EQ(CostOfOp("%x: f32[1, 1, 6, 6]",
                     "avg_pool(%x, kernel_size=[2, 3], stride=[2, 3], padding=[0, 0, 0, 0], "
                     "dilation=[1, 1])")
                .flops.ToString(),
            "36");
}

TEST(NodeCost, CountsFunctions) {
  EXPECT_EQ(CostOfOp("%x: f32[s0]", "exp(%x)").functions.ToString(), "s0");
  EXPECT_EQ(CostOfOp("%x: f32[s0]", "add(%x, %x)").functions.ToString(), "0");
  EXPECT_EQ(CostOfOp("%x: f32[s0]", "silu(%x)").functions.ToString(), "2*s0");
  EXPECT_EQ(CostOfOp("%x: f32[s0]", "convert(%x, dtype=bf16)").flops.ToString(), "0");
}

TEST(NodeCost, IsUnknownWhereTheOpSaysWhy) {
  const Parsed sort("func @main(%x: f32[8]) {\n  %0, %1 = sort(%x)\n  return %0\n}\n");
  EXPECT_FALSE(sort.cost().flops.is_valid());
  EXPECT_STREQ(UncountedReason(sort.node().op()), "the number depends on the algorithm");
  EXPECT_EQ(sort.cost().read.ToString(), "32");
}

TEST(NodeCost, BytesOfNarrowTypesAreRoundedUp) {
  EXPECT_EQ(BytesOf(DType::kI4, 5).ToString(), "3");
  EXPECT_EQ(BytesOf(DType::kBF16, SymInt::Symbol("s0")).ToString(), "2*s0");
}

bool IsCheapOp(const std::string& call) {
  return IsCheap(
      Parsed(absl::StrCat("func @main(%x: f32[4]) {\n  %0 = ", call, "\n  return %0\n}\n")).node());
}

TEST(IsCheap, HoldsForFewOperationsWithoutFunctions) {
  for (const char* call : {"add(%x, %x)", "relu(%x)", "floor(%x)", "convert(%x, dtype=f16)"}) {
    EXPECT_TRUE(IsCheapOp(call)) << call;
  }
  for (const char* call : {"exp(%x)", "div(%x, %x)", "sqrt(%x)", "hardswish(%x)", "gelu(%x)",
                           "sum(%x, dim=[0])", "permute(%x, dims=[0])"}) {
    EXPECT_FALSE(IsCheapOp(call)) << call;
  }
}

// A new pointwise op that computes by the math library must say so, or it would be cheap.
TEST(IsCheap, OpsThatAreCountedByTheirTraitAreFewAndSimple) {
  std::vector<std::string> names;
  for (const CostCoverage& entry : CostCoverageOf(ops::Registry())) {
    if (entry.way == CostCoverage::Way::kPointwise) names.push_back(entry.op);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "abs", "add", "bitwise_and", "bitwise_left_shift", "bitwise_not",
                         "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "eq", "floor",
                         "ge", "gt", "isinf", "isnan", "le", "logical_and", "logical_not",
                         "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "ne",
                         "neg", "relu", "round", "sign", "sub", "thresholded_relu", "trunc"));
}

TEST(UsualSize, IsTheHintOrWithinTheBounds) {
  SymbolTable symbols;
  const SymInt hinted = SymInt::Symbol("a"), small = SymInt::Symbol("b");
  const SymInt large = SymInt::Symbol("c"), unknown = SymInt::Symbol("d");
  symbols.Declare({hinted, {1, 4096}, 1, 12});
  symbols.Declare({small, {1, 8}});
  symbols.Declare({large, {100, 4096}});
  EXPECT_EQ(UsualSize(hinted * 2, symbols), 24);
  EXPECT_EQ(UsualSize(small, symbols), 8);
  EXPECT_EQ(UsualSize(large + 1, symbols), 101);
  EXPECT_EQ(UsualSize(unknown, symbols), kUsualSize);
}

}  // namespace
}  // namespace weft
