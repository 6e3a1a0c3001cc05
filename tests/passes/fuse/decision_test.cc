// Decisions of the passes that fuse: what they are on small graphs, that making one edits nothing,
// and that limits and targets change them.
#include "passes/fuse/decision.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/target/target.h"
#include "gtest/gtest.h"
#include "passes/fuse_concat.h"
#include "passes/fuse_epilogue.h"
#include "passes/fuse_horizontal.h"
#include "passes/fuse_reduction.h"
#include "passes/fuse_vertical.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr char kNetwork[] = R"(
  func @main(%x: f32[8, 16], %w: f32[16, 4], %b: f32[4]) {
    %0 = matmul(%x, %w)
    %1 = add(%0, %b)
    %2 = relu(%1)
    %3 = exp(%2)
    %4 = sum(%3, dim=[1], keepdim=true)
    %5 = div(%3, %4)
    %6 = cat(%5, %2, dim=1)
    return %6, %3
  })";

// The decision as text; the graph must be the same afterwards.
template <typename Decide>
std::string Text(const Module& module, Decide decide) {
  const uint64_t epoch = module.main()->epoch();
  std::string text = ToString(decide(*module.main()));
  EXPECT_EQ(module.main()->epoch(), epoch);
  return text;
}

TEST(FusionDecision, SaysWhichNodesGoTogetherAndWhyOthersDoNot) {
  const auto module = Parse(kNetwork);
  const Target target;
  EXPECT_EQ(Text(*module, [&](const Graph& g) { return DecideFuseVertical(g, target, {}); }),
            "pointwise: %2 = add, %3 = relu, %4 = exp\n"
            "%6 = div: not fused with %4 = exp: what lies between them depends on it\n");
  EXPECT_EQ(Text(*module, [&](const Graph& g) { return DecideFuseEpilogue(g, target, {}); }),
            "gemm: %1 = matmul, %2 = add, %3 = relu\n"
            "%1 = matmul: not fused with %1 = matmul: its value is an output\n");
  EXPECT_EQ(Text(*module, [&](const Graph& g) { return DecideFuseReduction(g, target, {}); }),
            "reduction: %2 = add, %3 = relu, %4 = exp, %5 = sum, %6 = div\n");
  EXPECT_EQ(Text(*module, [&](const Graph& g) { return DecideFuseConcat(g, target, {}); }),
            "concat: %6 = div, %7 = cat\n"
            "%7 = cat: not fused with %3 = relu: others use the part as well\n");
  EXPECT_EQ(Text(*module, [&](const Graph& g) { return DecideFuseHorizontal(g, target, {}); }), "");
}

TEST(FusionDecision, ReadsTheTargetAndTheLimits) {
  const auto module = Parse(kNetwork);
  Target small;
  small.max_kernel_nodes = 2;
  const auto vertical = [&](const FuseVerticalOptions& options) {
    return Text(*module, [&](const Graph& g) { return DecideFuseVertical(g, small, options); });
  };
  EXPECT_THAT(
      vertical({}),
      HasSubstr("%4 = exp: not fused with %3 = relu: the group would have more than 2 nodes"));
  FuseVerticalOptions options;
  options.limits.max_nodes = 3;
  options.limits.max_inputs = 1;
  EXPECT_THAT(vertical(options), HasSubstr("pointwise: %3 = relu, %4 = exp"));
  EXPECT_THAT(vertical(options), HasSubstr("the group would read more than 1 tensors"));
}

}  // namespace
}  // namespace weft
