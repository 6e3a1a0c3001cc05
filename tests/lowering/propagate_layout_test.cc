// Regions of convolution nets: their costs and decisions, and that plans with either order give the
// graph's results.
#include "lowering/propagate_layout.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_verifier.h"
#include "tests/lowering/plan_evaluator.h"
#include "tests/support/generic_target.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Convolutions and pooling take any strides, and like channels innermost.
Target ChannelsLastTarget() {
  Target target = GenericTarget();
  for (Routine& routine : target.routines) {
    routine.strided = {0, 1, 3, Routine::kResult};
    routine.prefers_channels_last = routine.name == "convolution" || routine.name == "pooling";
  }
  return target;
}

std::unique_ptr<Module> Parse(const std::string& text) {
  auto module = ParseModule(text, ops::Registry(), "test");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

constexpr char kNet[] = R"(
func @main(%x: f32[s0, 3, 6, 6], %w: f32[8, 3, 3, 3], %v: f32[8, 8, 3, 3]) -> f32[s0, 8]
    where 1 <= s0 <= 64 {
  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[s0, 8, 6, 6]
  %1 = relu(%0) : f32[s0, 8, 6, 6]
  %2 = convolution(%1, %v, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[s0, 8, 6, 6]
  %3 = add(%2, %1) : f32[s0, 8, 6, 6]
  %4 = mean(%3, dim=[2, 3], keepdim=false) : f32[s0, 8]
  return %4
})";

TEST(PropagateLayout, ANetIsOneRegion) {
  const auto module = Parse(kNet);
  const auto regions = CollectLayoutRegions(*module->main(), ChannelsLastTarget());
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].num_routines, 2);
  EXPECT_EQ(regions[0].nodes.size(), 4u);
  // 64 stands for s0. The image has few channels, and the mean reads any order.
  EXPECT_EQ(regions[0].row_major_cost, 64 * 36 * (3 + 8 + 8 + 8));
  EXPECT_EQ(regions[0].channels_last_cost, 0);
  EXPECT_EQ(DecideLayouts(regions).size(), 4u);
  EXPECT_THAT(ToString(regions), HasSubstr("2 routines and 2 other nodes"));
  EXPECT_THAT(ToString(regions), HasSubstr("channels-last (62208 elements"));
}

TEST(PropagateLayout, StridesHaveTheChannelsInnermost) {
  const auto module = Parse(kNet);
  const auto plan = Lower(*module->main(), ChannelsLastTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan);
  for (const Step& step : plan->steps) {
    EXPECT_NE(step.kind, StepKind::kCopy);
    if (step.results[0].type.rank() != 4) continue;
    EXPECT_THAT(step.results[0].strides, ElementsAre(288, 1, 48, 8));
  }
  // The pointwise kernels are one loop: they run in the order of memory.
  EXPECT_EQ(plan->kernels[0].nests[0].outer.size(), 1u);
}

TEST(PropagateLayout, OneConvolutionStaysAsItIs) {
  const auto module = Parse(R"(
func @main(%x: f32[1, 16, 6, 6], %w: f32[16, 16, 3, 3]) -> f32[1, 16, 6, 6] {
  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[1, 16, 6, 6]
  return %0
})");
  const auto regions = CollectLayoutRegions(*module->main(), ChannelsLastTarget());
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].row_major_cost, regions[0].channels_last_cost);
  EXPECT_TRUE(DecideLayouts(regions).empty());
  EXPECT_TRUE(CollectLayoutRegions(*module->main(), GenericTarget()).empty());
}

TEST(PropagateLayout, ChannelsThatComeLastCostNothing) {
  const auto cost = [](const char* dims) {
    const auto module = Parse(absl::StrCat(R"(
func @main(%x: f32[6, 6, 6, 6], %w: f32[6, 6, 3, 3]) -> f32[6, 6, 6, 6] {
  %0 = permute(%x, dims=[)",
                                           dims, R"(]) : f32[6, 6, 6, 6]
  %1 = convolution(%0, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[6, 6, 6, 6]
  return %1
})"));
    return CollectLayoutRegions(*module->main(), ChannelsLastTarget())[0].channels_last_cost;
  };
  EXPECT_EQ(cost("0, 3, 1, 2"), 1296);  // The result's alone.
  EXPECT_EQ(cost("0, 2, 3, 1"), 2 * 1296);
  EXPECT_EQ(cost("0, 1, 3, 2"), 2 * 1296);
}

TEST(PropagateLayout, CopiesSayWhoNeedsThem) {
  const auto module = Parse(R"(
func @main(%x: f32[2, 4, 6, 6], %w: f32[4, 4, 3, 3]) -> (f32[2, 144], f32[2, 4, 6, 6]) {
  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[2, 4, 6, 6]
  %1 = convolution(%0, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[2, 4, 6, 6]
  %2 = avg_pool(%1, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1]) : f32[2, 4, 6, 6]
  %3 = reshape(%2, size=[2, 144]) : f32[2, 144]
  return %3, %1
})");
  const auto plan = Lower(*module->main(), ChannelsLastTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> remarks;
  for (const Step& step : plan->steps) {
    if (step.kind == StepKind::kCopy) remarks.push_back(step.remark);
  }
  EXPECT_THAT(remarks,
              ElementsAre("reshape reads row-major order", "an output is in row-major order"));
}

// Nets of one, two and three spatial dims; concatenations, groups, broadcasting.
constexpr const char* kNets[] = {
    kNet,
    R"(
func @main(%x: f32[2, 5, 9], %w: f32[6, 5, 3], %v: f32[4, 6, 3], %b: f32[6]) -> f32[2, 10, 9] {
  %0 = convolution(%x, %w, %b, stride=[1], padding=[1], dilation=[1]) : f32[2, 6, 9]
  %1 = tanh(%0) : f32[2, 6, 9]
  %2 = convolution(%1, %v, none, stride=[1], padding=[1], dilation=[1]) : f32[2, 4, 9]
  %3 = cat(%1, %2, dim=1) : f32[2, 10, 9]
  return %3
})",
    R"(
func @main(%x: f32[1, 4, 4, 4, 4], %w: f32[4, 2, 3, 3, 3], %g: f32[1, 4, 1, 1, 1]) -> f32[1, 4] {
  %0 = convolution(%x, %w, none, stride=[1, 1, 1], padding=[1, 1, 1], dilation=[1, 1, 1], groups=2) : f32[1, 4, 4, 4, 4]
  %1 = mul(%0, %g) : f32[1, 4, 4, 4, 4]
  %2 = convolution(%1, %w, none, stride=[1, 1, 1], padding=[1, 1, 1], dilation=[1, 1, 1], groups=2) : f32[1, 4, 4, 4, 4]
  %3 = amax(%2, dim=[2, 3, 4], keepdim=false) : f32[1, 4]
  return %3
})",
};

TEST(PropagateLayout, PlansGiveWhatTheGraphGives) {
  for (const char* text : kNets) {
    const auto module = Parse(text);
    const Graph& graph = *module->main();
    std::vector<HostTensor> inputs;
    for (int i = 0; i < graph.num_inputs(); ++i) {
      std::vector<int64_t> dims;
      for (SymInt d : graph.input(i)->type().dims())
        dims.push_back(d.is_constant() ? d.value() : 3);
      HostTensor input(DType::kF32, dims);
      std::vector<double> values(input.numel());
      for (size_t k = 0; k < values.size(); ++k) {
        values[k] = (static_cast<int>(k * 37 % 19) - 9) / 8.0;
      }
      input.WriteDoubles(values);
      inputs.push_back(std::move(input));
    }
    const auto want = EvaluateGraph(graph, inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_FALSE(DecideLayouts(CollectLayoutRegions(graph, ChannelsLastTarget())).empty()) << text;
    const auto plan = Lower(graph, ChannelsLastTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan);
    const auto got = RunPlan(*plan, inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], (*want)[i], {1e-4, 1e-5}), "") << text;
    }
  }
}

}  // namespace
}  // namespace weft
