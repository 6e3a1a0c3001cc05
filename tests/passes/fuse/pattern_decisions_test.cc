// Decisions of the passes that replace patterns: attention, quantized products, products of one
// input. They are made without an edit, and name why a candidate stays.
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "gtest/gtest.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_attention/decision.h"
#include "passes/fuse_attention/match.h"
#include "passes/fuse_horizontal/products.h"
#include "passes/fuse_quantized/decision.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

// The decision as text; the graph must be the same afterwards.
template <typename Decide>
std::string Text(const Module& module, Decide decide) {
  const uint64_t epoch = module.main()->epoch();
  std::string text = ToString(decide(*module.main()));
  EXPECT_EQ(module.main()->epoch(), epoch);
  return text;
}

std::string AttentionText(const std::string& program, const FuseAttentionOptions& options = {}) {
  const auto module = Parse(program);
  return Text(*module, [&](const Graph& graph) {
    return DecideAttention(CollectAttention(graph), module->symbols(), options);
  });
}

TEST(AttentionDecision, SaysWhatTheAttentionIs) {
  EXPECT_EQ(AttentionText(R"(
    func @main(%q: f32[2, 4, s0, 8], %k: f32[2, 4, s1, 8], %v: f32[2, 4, s1, 6],
               %m: f32[2, 1, s0, s1]) {
      %0 = permute(%k, dims=[0, 1, 3, 2])
      %1 = matmul(%q, %0)
      %2 = constant(dense<4.0>) : f32[]
      %3 = div(%1, %2)
      %4 = add(%3, %m)
      %5 = softmax(%4, dim=-1)
      %6 = matmul(%5, %v)
      return %6
    })"),
            "%7 = matmul: attention, scale 0.25, masks 1\n");
}

TEST(AttentionDecision, SharesHeadsThatAreRepeated) {
  EXPECT_EQ(AttentionText(R"(
    func @main(%q: f32[2, 4, 5, 8], %k: f32[2, 1, 5, 8], %v: f32[2, 1, 5, 8]) {
      %0 = expand(%k, size=[2, 4, 5, 8])
      %1 = expand(%v, size=[2, 4, 5, 8])
      %2 = permute(%0, dims=[0, 1, 3, 2])
      %3 = matmul(%q, %2)
      %4 = softmax(%3, dim=-1)
      %5 = matmul(%4, %1)
      return %5
    })"),
            "%6 = matmul: attention, scale 1, shared heads\n");
}

TEST(AttentionDecision, NamesWhyACandidateStays) {
  const std::string program = R"(
    func @main(%q: f32[2, 5, 8], %k: f32[2, 8, 5], %v: f32[2, 5, 8], %m: bool[5, 5]) {
      %0 = matmul(%q, %k)
      %1 = constant(dense<-10000.0>) : f32[]
      %2 = where(%m, %0, %1)
      %3 = softmax(%2, dim=-1)
      %4 = matmul(%3, %v)
      return %4
    })";
  EXPECT_EQ(AttentionText(program), "%5 = matmul: a row of the mask may hide all keys\n");
  FuseAttentionOptions options;
  options.hidden_rows = true;
  EXPECT_EQ(AttentionText(program, options), "%5 = matmul: attention, scale 1, masks 1\n");
}

TEST(AttentionDecision, ADivisionThatRoundsDownIsNoScale) {
  EXPECT_EQ(AttentionText(R"(
    func @main(%q: f32[2, 5, 8], %k: f32[2, 8, 5], %v: f32[2, 5, 8]) {
      %0 = matmul(%q, %k)
      %1 = constant(dense<4.0>) : f32[]
      %2 = div(%0, %1, rounding_mode="floor")
      %3 = softmax(%2, dim=-1)
      %4 = matmul(%3, %v)
      return %4
    })"),
            "%5 = matmul: the scale is not a constant\n");
}

// The scores of the second are the result of the first.
TEST(AttentionDecision, TwoAttentionsDoNotShareAProduct) {
  EXPECT_EQ(AttentionText(R"(
    func @main(%q: f32[2, 5, 5], %k: f32[2, 5, 5], %v: f32[2, 5, 5], %w: f32[2, 5, 8]) {
      %0 = matmul(%q, %k)
      %1 = softmax(%0, dim=-1)
      %2 = matmul(%1, %v)
      %3 = softmax(%2, dim=-1)
      %4 = matmul(%3, %w)
      return %4
    })"),
            "%3 = matmul: attention, scale 1\n"
            "%5 = matmul: no product makes the scores\n");
}

QuantizedCandidate Candidate(Node* node, bool one_scale, int64_t scale_axis, int64_t length) {
  QuantizedCandidate candidate;
  candidate.product.node = node;
  candidate.product.length = length;
  candidate.one_scale = one_scale;
  candidate.scale_axis = scale_axis;
  return candidate;
}

TEST(QuantizedDecision, ReadsScalesAndTheLengthOfSums) {
  const auto module = Parse(R"(
    func @main(%x: f32[2, 4], %w: f32[2, 4]) {
      %0 = linear(%x, %w, none)
      return %0
    })");
  Node* node = module->main()->output(0)->node();
  constexpr int64_t kLongest = 2147483647 / (255 * 255);
  QuantizedCandidate along_the_sum = Candidate(node, true, 0, 4);
  along_the_sum.product.weight_axis = 1;
  const std::vector<QuantizedCandidate> candidates = {
      Candidate(node, true, -1, 4),
      Candidate(node, true, 0, kLongest),
      Candidate(node, false, -1, 4),
      Candidate(node, true, 1, 4),
      along_the_sum,
      Candidate(node, true, -1, kLongest + 1),
      Candidate(node, true, -1, 0),
  };
  const QuantizedDecision decision = DecideQuantized(candidates, Target());
  EXPECT_EQ(decision.products.size(), 2u);
  EXPECT_EQ(ToString(decision),
            "%1 = linear: a product of integers\n"
            "%1 = linear: a product of integers\n"
            "%1 = linear: its first operand has several scales\n"
            "%1 = linear: the scales of its second operand are not those of the result's channels\n"
            "%1 = linear: the scales of its second operand are not those of the result's channels\n"
            "%1 = linear: its sums could pass 32 bits\n"
            "%1 = linear: its sums could pass 32 bits\n");
}

TEST(QuantizedDecision, TakesBytesWhereTheTargetAndTheWeightsAllowIt) {
  const auto module = Parse(R"(
    func @main(%x: u8[3, 4], %y: u4[3, 4]) {
      %s = constant(dense<0.5>) : f32[]
      %w = constant(dense<[[1, -2, 3, -4], [5, 6, -7, 127]]>) : i8[2, 4]
      %z = constant(dense<[0, -1]>) : i8[2]
      %t = constant(dense<[0.5, 0.25]>) : f32[2]
      %0 = dequantize_linear(%x, %s, none)
      %1 = dequantize_linear(%w, %s, none)
      %2 = linear(%0, %1, none)
      %3 = dequantize_linear(%w, %t, %z, axis=0)
      %4 = linear(%0, %3, none)
      %5 = dequantize_linear(%y, %s, none)
      %6 = linear(%5, %1, none)
      return %2, %4, %6
    })");
  const auto candidates = CollectQuantized(*module->main());
  ASSERT_EQ(candidates.size(), 3u);
  EXPECT_TRUE(candidates[0].weights.bytes.valid());
  EXPECT_FALSE(candidates[0].weights.zero_points.valid());
  EXPECT_TRUE(candidates[1].weights.bytes.valid());
  EXPECT_TRUE(candidates[1].weights.zero_points.valid()) << "127 less -1 is no i8";
  EXPECT_FALSE(candidates[2].weights.bytes.valid()) << "4 bits";
  Target target;
  EXPECT_FALSE(DecideQuantized(candidates, target).products[0].weights.bytes.valid());
  target.composites = {"convolution_integer"};
  EXPECT_FALSE(DecideQuantized(candidates, target).products[0].weights.bytes.valid());
  target.composites = {"matmul_integer"};
  const QuantizedDecision decision = DecideQuantized(candidates, target);
  EXPECT_TRUE(decision.products[0].weights.bytes.valid());
  EXPECT_TRUE(decision.products[1].weights.zero_points.valid());
}

TEST(QuantizedDecision, TakesFloatsWhereTheTargetDoes) {
  const auto module = Parse(R"(
    func @main(%x: f8e4m3[3, 4], %w: f8e5m2[2, 4], %t: f32[2], %i: i8[2, 4]) {
      %s = constant(dense<0.5>) : f32[]
      %0 = dequantize_linear(%x, %s, none)
      %1 = dequantize_linear(%w, %t, none, axis=0)
      %2 = linear(%0, %1, none)
      %3 = dequantize_linear(%i, %s, none)
      %4 = linear(%0, %3, none)
      return %2, %4
    })");
  const auto candidates = CollectQuantized(*module->main());
  ASSERT_EQ(candidates.size(), 1u) << "floats and integers are no product";
  EXPECT_EQ(ToString(DecideQuantized(candidates, Target())), "");
  Target target;
  target.composites = {"matmul_integer", "matmul_float8"};
  EXPECT_EQ(ToString(DecideQuantized(candidates, target)),
            "%4 = linear: a product of 8-bit floats\n");
}

TEST(QuantizedDecision, CollectsDequantizedOperandsAlone) {
  const auto module = Parse(R"(
    func @main(%x: u8[3, 4], %w: i8[2, 4], %y: f32[3, 4], %t: f32[2]) {
      %s = constant(dense<0.5>) : f32[]
      %0 = dequantize_linear(%x, %s, none)
      %1 = dequantize_linear(%w, %t, none, axis=0)
      %2 = linear(%0, %1, none)
      %3 = linear(%y, %1, none)
      return %2, %3
    })");
  const auto candidates = CollectQuantized(*module->main());
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].product.node, module->main()->output(0)->node());
  EXPECT_EQ(candidates[0].product.length, 4);
  EXPECT_TRUE(candidates[0].one_scale);
  EXPECT_EQ(candidates[0].scale_axis, 0);
}

constexpr char kWide[] = R"(
  func @main(%x: i32[3, 4], %b: i32[2]) {
    %0 = constant(dense<[[1, 2, 3, 4], [5, 6, 7, 8]]>) : i8[2, 4]
    %1 = constant(dense<3>) : i8[]
    %2 = convert(%0, dtype=i32)
    %3 = convert(%1, dtype=i32)
    %4 = sub(%2, %3)
    %5 = linear(%x, %4, %b)
    return %5
  })";

TEST(WideDecision, FoldsWeightsThatFit) {
  const auto module = Parse(kWide);
  const auto decide = [](int64_t max_bytes) {
    return [=](const Graph& graph) { return DecideWide(CollectWide(graph), max_bytes); };
  };
  EXPECT_EQ(Text(*module, decide(32)), "%6 = linear: moves its bias, folds its weights\n");
  EXPECT_EQ(Text(*module, decide(31)),
            "%6 = linear: moves its bias\n"
            "%6 = linear: its weights take more than 31 bytes as integers of 32 bits\n");
}

// Both operands of the difference are one node.
TEST(WideDecision, CollectsSharedNodesOnce) {
  const auto module = Parse(R"(
    func @main(%x: i32[3, 4]) {
      %0 = constant(dense<[[1, 2, 3, 4], [5, 6, 7, 8]]>) : i8[2, 4]
      %1 = convert(%0, dtype=i32)
      %2 = sub(%1, %1)
      %3 = linear(%x, %2, none)
      return %3
    })");
  const auto candidates = CollectWide(*module->main());
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].weight_nodes.size(), 2u);
}

TEST(WideDecision, OrdersTheNodesOfTheWeights) {
  const auto module = Parse(kWide);
  const WideDecision decision = DecideWide(CollectWide(*module->main()), 1 << 20);
  ASSERT_EQ(decision.products.size(), 1u);
  const std::vector<Node*>& nodes = decision.products[0].weight_nodes;
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes.back()->op().name(), "sub");
}

std::string ProductText(const std::string& program) {
  const auto module = Parse(program);
  return Text(*module, [](const Graph& graph) { return DecideProducts(CollectProducts(graph)); });
}

TEST(ProductDecision, MergesWhatDiffersInChannelsAlone) {
  EXPECT_EQ(ProductText(R"(
    func @main(%x: f32[s0, 2], %y: f32[s0, 2]) {
      %0 = constant(dense<[[1.0, 2.0], [3.0, 4.0]]>) : f32[2, 2]
      %1 = constant(dense<[[5.0, 6.0]]>) : f32[1, 2]
      %2 = linear(%x, %0, none)
      %3 = linear(%x, %1, none)
      %4 = linear(%y, %1, none)
      %5 = relu(%2)
      %6 = relu(%3)
      %7 = exp(%5)
      %8 = neg(%6)
      return %7, %8, %4
    })"),
            "products: %3 = linear, %4 = linear, then relu\n");
}

TEST(ProductDecision, NamesWhyOthersStay) {
  EXPECT_EQ(ProductText(R"(
    func @main(%x: f32[1, 1, 4, 4], %u: f32[1, 1, 1, 2]) {
      %0 = constant(dense<[[[[1.0, 2.0]]]]>) : f32[1, 1, 1, 2]
      %1 = constant(dense<[[[[1.0, 2.0, 3.0]]]]>) : f32[1, 1, 1, 3]
      %2 = convolution(%x, %0, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %3 = convolution(%x, %u, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %4 = convolution(%x, %0, none, stride=[2, 1], padding=[0, 0], dilation=[1, 1])
      %5 = convolution(%x, %1, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %6 = convolution(%x, %0, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %7 = relu(%6)
      return %2, %3, %4, %5, %7
    })"),
            "%4 = convolution: not fused with %3 = convolution: its weights are not constant\n"
            "%5 = convolution: not fused with %3 = convolution: their attributes differ\n"
            "%6 = convolution: not fused with %3 = convolution: their weights have other types or "
            "sizes\n"
            "%7 = convolution: not fused with %3 = convolution: other activations follow them\n");
}

// Merges come in the order of their first products, whatever family they are of.
TEST(ProductDecision, OrdersMerges) {
  EXPECT_EQ(ProductText(R"(
    func @main(%x: f32[1, 1, 4, 4], %y: f32[1, 1, 4, 4]) {
      %0 = constant(dense<[[[[1.0, 2.0]]]]>) : f32[1, 1, 1, 2]
      %1 = convolution(%x, %0, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %2 = convolution(%y, %0, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %3 = convolution(%y, %0, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %4 = convolution(%x, %0, none, stride=[2, 1], padding=[0, 0], dilation=[1, 1])
      %5 = convolution(%x, %0, none, stride=[2, 1], padding=[0, 0], dilation=[1, 1])
      return %1, %2, %3, %4, %5
    })"),
            "products: %3 = convolution, %4 = convolution\n"
            "products: %5 = convolution, %6 = convolution\n"
            "%5 = convolution: not fused with %2 = convolution: their attributes differ\n");
}

}  // namespace
}  // namespace weft
