// Nodes with nested graphs, judged by the runs that a target made.
#include "api/check/target/region_runs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "api/check/target/target_check.h"
#include "backends/runtime/step_observer.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "gtest/gtest.h"
#include "lowering/plan.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

const char kCond[] = R"(
func @main(%p: bool[], %x: f32[2]) -> f32[2] {
  %0 = cond(%p, %x) : f32[2] {
    then_graph(%a: f32[2]) -> f32[2] {
      %1 = exp(%a) : f32[2]
      return %1
    }
    else_graph(%b: f32[2]) -> f32[2] {
      return %b
    }
  }
  return %0
}
)";

const char kLoop[] = R"(
func @main(%n: i64[], %p: bool[], %x: f32[2]) -> f32[2] {
  %0 = loop(%n, %p, %x, num_carried=1) : f32[2] {
    body @step(%i: i64[], %c: bool[], %a: f32[2]) -> (bool[], f32[2]) {
      %1 = exp(%a) : f32[2]
      return %c, %1
    }
  }
  return %0
}
)";

HostTensor Pair(double a, double b) { return HostTensor::FromDoubles(DType::kF32, {2}, {a, b}); }
HostTensor Bool(bool b) { return HostTensor::ScalarInt(DType::kBool, b); }
HostTensor Int(int64_t i) { return HostTensor::ScalarInt(DType::kI64, i); }

NodeJudgement Judged(const char* text, const RegionRuns& runs,
                     const std::vector<HostTensor>& operands, const HostTensor& got) {
  const auto module = Parse(text);
  const SymbolEnv env(module->symbols());
  auto judged = runs.Judge(*module->main()->first_node(), operands, env, {got});
  EXPECT_TRUE(judged.ok()) << judged.status();
  return judged.ok() ? *std::move(judged) : NodeJudgement();
}

// The steps of the run are judged elsewhere: exp(1) is 3 for all that this judge says.
TEST(RegionRunsTest, OutputsOfTheRunAreTheResult) {
  RegionRuns runs;
  runs.Begin(0, {Pair(1, 2)});
  runs.End({Pair(3, 8)});
  EXPECT_TRUE(Judged(kCond, runs, {Bool(true), Pair(1, 2)}, Pair(3, 8)).same);
  const NodeJudgement judged =
      Judged(kCond, runs, {Bool(true), Pair(1, 2)}, Pair(std::nextafterf(3, 4), 8));
  EXPECT_FALSE(judged.same);
  EXPECT_THAT(judged.difference, HasSubstr("1 of 2 elements differ"));
}

TEST(RegionRunsTest, OtherGraphIsFound) {
  RegionRuns runs;
  runs.Begin(1, {Pair(1, 2)});
  runs.End({Pair(1, 2)});
  const NodeJudgement judged = Judged(kCond, runs, {Bool(true), Pair(1, 2)}, Pair(1, 2));
  EXPECT_FALSE(judged.same);
  EXPECT_THAT(judged.difference, HasSubstr("got graph 1, want 0"));
}

TEST(RegionRunsTest, OtherInputsAreFound) {
  RegionRuns runs;
  runs.Begin(0, {Pair(1, 3)});
  runs.End({Pair(1, 2)});
  const NodeJudgement judged = Judged(kCond, runs, {Bool(true), Pair(1, 2)}, Pair(1, 2));
  EXPECT_FALSE(judged.same);
  EXPECT_THAT(judged.difference, HasSubstr("run 0 of nested graphs: input 0"));
}

// A loop of two runs.
TEST(RegionRunsTest, StateThatIsNotHandedOnIsFound) {
  for (const bool handed_on : {true, false}) {
    RegionRuns runs;
    runs.Begin(0, {Int(0), Bool(true), Pair(0, 0)});
    runs.End({Bool(true), Pair(1, 1)});
    runs.Begin(0, {Int(1), Bool(true), handed_on ? Pair(1, 1) : Pair(0, 0)});
    runs.End({Bool(true), Pair(2, 2)});
    const std::vector<HostTensor> operands = {Int(2), Bool(true), Pair(0, 0)};
    EXPECT_EQ(Judged(kLoop, runs, operands, Pair(2, 2)).same, handed_on);
    EXPECT_FALSE(Judged(kLoop, runs, operands, Pair(1, 1)).same);
  }
}

TEST(RegionRunsTest, NumberOfRunsIsJudged) {
  RegionRuns runs;
  runs.Begin(0, {Int(0), Bool(true), Pair(0, 0)});
  runs.End({Bool(true), Pair(1, 1)});
  EXPECT_TRUE(Judged(kLoop, runs, {Int(1), Bool(true), Pair(0, 0)}, Pair(1, 1)).same);
  const NodeJudgement few = Judged(kLoop, runs, {Int(2), Bool(true), Pair(0, 0)}, Pair(1, 1));
  EXPECT_THAT(few.difference, HasSubstr("1 times, the reference goes on"));
  runs.Begin(0, {Int(1), Bool(true), Pair(1, 1)});
  runs.End({Bool(true), Pair(2, 2)});
  const NodeJudgement many = Judged(kLoop, runs, {Int(1), Bool(true), Pair(0, 0)}, Pair(2, 2));
  EXPECT_THAT(many.difference, HasSubstr("2 times, the reference 1 times"));
}

// A recurrence that loses all digits of its first state in 64 steps.
const char kChaos[] = R"(
func @main(%x: f32[16, 16], %w: f32[16, 16], %s: f32[64, 16, 16])
    -> (f32[16, 16], f32[64, 16, 16]) {
  %0 = constant(dense<2.0>) : f32[]
  %1, %2 = scan(%x, %s, %w, %0, num_carried=1, num_scanned=1) : f32[16, 16], f32[64, 16, 16] {
    body @step(%h: f32[16, 16], %i: f32[16, 16], %m: f32[16, 16], %gain: f32[])
        -> (f32[16, 16], f32[16, 16]) {
      %1 = matmul(%h, %m) : f32[16, 16]
      %2 = add(%1, %i) : f32[16, 16]
      %3 = mul(%2, %gain) : f32[16, 16]
      %4 = tanh(%3) : f32[16, 16]
      return %4, %4
    }
  }
  return %1, %2
}
)";

TargetCheckResult CheckedChaos(TargetCheckOptions options) {
  options.more_runs = 2;
  auto result = CheckOnTarget(*Parse(kChaos), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : TargetCheckResult();
}

TEST(RegionRunsTest, ChaoticScanAgrees) {
  const TargetCheckResult result = CheckedChaos({});
  EXPECT_FALSE(result.differs()) << result.ToString();
  EXPECT_EQ(result.stats.unjudged, 0);
}

// Calls `spoil` with the elements of result `result` of the scan.
TargetCheckOptions SpoiltScan(int result, std::function<void(float*)> spoil) {
  TargetCheckOptions options;
  options.after_step = [=](const ObservedStep& seen) {
    const Step& step = seen.plan.steps[seen.index];
    if (step.kind != StepKind::kControl) return;
    const auto memory = seen.read(step.results[result]);
    ASSERT_TRUE(memory.ok()) << memory.status();
    spoil(memory->data<float>());
  };
  return options;
}

TEST(RegionRunsTest, OneUnitInTheLastPlaceOfAScanIsFound) {
  for (const int result : {0, 1}) {
    const TargetCheckResult checked = CheckedChaos(
        SpoiltScan(result, [](float* data) { data[7] = std::nextafterf(data[7], 2); }));
    ASSERT_TRUE(checked.differs());
    EXPECT_THAT(checked.difference->what, HasSubstr("control scan"));
    EXPECT_THAT(checked.difference->difference, HasSubstr("from the runs of nested graphs: 1 of"));
  }
}

TEST(RegionRunsTest, KeptValuesInAnotherOrderAreFound) {
  const TargetCheckResult checked = CheckedChaos(
      SpoiltScan(1, [](float* data) { std::swap_ranges(data, data + 256, data + 60 * 256); }));
  EXPECT_TRUE(checked.differs());
}

TEST(RegionRunsTest, WrongBodyIsFoundInItsStep) {
  TargetCheckOptions options;
  int runs = 0;
  options.after_step = [&runs](const ObservedStep& seen) {
    const Step& step = seen.plan.steps[seen.index];
    if (step.kind != StepKind::kKernel) return;
    if (!absl::StrContains(seen.plan.kernels[step.kernel].name, "tanh")) return;
    const auto result = seen.read(step.results[0]);
    if (result.ok() && ++runs == 50) result->data<float>()[3] += 1e-4f;
  };
  const TargetCheckResult checked = CheckedChaos(options);
  ASSERT_TRUE(checked.differs());
  EXPECT_THAT(checked.difference->what, HasSubstr("tanh"));
  EXPECT_THAT(checked.difference->difference,
              HasSubstr("1 of 256 elements differ; worst at [0, 3]"));
}

TEST(RegionRunsTest, SwappedOperandsOfAScanAreFound) {
  TargetCheckOptions options;
  options.edit_plan = [](Plan* plan) {
    for (Step& step : plan->steps) {
      if (step.kind == StepKind::kControl) std::swap(step.args[0], step.args[2]);
    }
  };
  const TargetCheckResult checked = CheckedChaos(options);
  ASSERT_TRUE(checked.differs());
  EXPECT_THAT(checked.difference->difference, HasSubstr("run 0 of nested graphs: input 0"));
}

}  // namespace
}  // namespace weft
