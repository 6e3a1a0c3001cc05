// The check of a target's steps: right programs agree, every planted fault is found and its
// step named, and a fault is reduced to a small graph.
#include "api/check/target/target_check.h"

#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/check/target/target_case.h"
#include "api/compiler.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/api/check/target/target_faults.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

TargetCheckResult Checked(const std::string& text, const TargetCheckOptions& options = {}) {
  auto result = CheckOnTarget(*Parse(text), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : TargetCheckResult();
}

// The options that plant the fault; the step that has to be named is set when it is known.
TargetCheckOptions Planted(const TargetFault& fault, std::shared_ptr<int> step) {
  TargetCheckOptions options;
  options.edit_plan = [fault, step](Plan* plan) {
    *step = -1;
    if (fault.edit) {
      *step = fault.edit(plan);
      return;
    }
    for (size_t i = 0; i < plan->steps.size() && *step < 0; ++i) {
      if (plan->steps[i].kind == fault.kind) *step = static_cast<int>(i);
    }
  };
  if (fault.spoil) {
    options.after_step = [fault, step](const ObservedStep& seen) {
      if (seen.index == *step) fault.spoil(seen, seen.plan.steps[seen.index]);
    };
  }
  return options;
}

void ExpectFound(const std::vector<TargetFault>& faults) {
  for (const TargetFault& fault : faults) {
    SCOPED_TRACE(fault.name);
    auto step = std::make_shared<int>(-1);
    const TargetCheckResult result = Checked(fault.program, Planted(fault, step));
    EXPECT_GE(*step, 0) << "the program has no step for the fault";
    ASSERT_TRUE(result.differs()) << result.ToString();
    EXPECT_EQ(result.difference->step, *step) << result.ToString();
    std::cout << fault.name << ": " << result.difference->what << ": "
              << result.difference->difference << "\n";
  }
}

TEST(TargetCheckTest, RightProgramsAgree) {
  for (const char* program : {kPointwiseProgram, kSoftmaxProgram, kLinearProgram,
                              kConvolutionProgram, kConcatProgram, kIntegerProgram, kPadProgram}) {
    const TargetCheckResult result = Checked(program);
    EXPECT_FALSE(result.differs()) << program << result.ToString();
    EXPECT_GE(result.runs, 60) << result.ToString();
    EXPECT_GT(result.stats.values, 0);
  }
}

TEST(TargetCheckTest, ViewsBehindTheEndOfAnEmptyBufferAreRead) {
  const TargetCheckResult result = Checked(R"(
func @main(%x: f32[s0, 6]) -> (f32[s0, 3], f32[s0, 3]) where 0 <= s0 <= 64 {
  %0, %1 = split_with_sizes(%x, split_sizes=[3, 3], dim=1) : f32[s0, 3], f32[s0, 3]
  %2 = exp(%1) : f32[s0, 3]
  %3 = cumprod(%1, dim=1) : f32[s0, 3]
  return %2, %3
}
)");
  EXPECT_FALSE(result.differs()) << result.ToString();
  EXPECT_EQ(result.refused, 0) << result.ToString();
}

TEST(TargetCheckTest, ConstantsWithoutElementsLieBetweenZones) {
  const TargetCheckResult result = Checked(R"(
func @main(%x: f32[5, 3]) -> f32[5, 3] {
  %0 = constant(dense<[]>) : f32[5, 0]
  %1 = exp(%x) : f32[5, 3]
  %2 = cat(%1, %0, dim=1) : f32[5, 3]
  %3 = abs(%2) : f32[5, 3]
  return %3
}
)");
  EXPECT_FALSE(result.differs()) << result.ToString();
}

TEST(TargetCheckTest, SizesThatDataGivesAreWaitedFor) {
  const TargetCheckResult result = Checked(R"(
func @main(%x: f32[2, 3]) -> f32[u0, 2] where unbacked u0 {
  %0 = nonzero(%x) : i64[u0, 2]
  %1 = constant(dense<2.5>) : f32[]
  %2 = expand(%1, size=[u0, 2]) : f32[u0, 2]
  %3 = exp(%2) : f32[u0, 2]
  return %3
}
)");
  EXPECT_FALSE(result.differs()) << result.ToString();
}

TEST(TargetCheckTest, FaultsOfPlansAreFoundAndNamed) {
  const auto faults = PlanFaults();
  EXPECT_GE(faults.size(), 18);
  ExpectFound(faults);
}

TEST(TargetCheckTest, FaultsOfRoutinesAreFoundAndNamed) {
  const auto faults = MemoryFaults();
  EXPECT_GE(faults.size(), 15);
  ExpectFound(faults);
}

TEST(TargetCheckTest, OperandThatIsWrittenOverIsFoundWhereItIsRead) {
  TargetCheckOptions options;
  const View* victim = nullptr;
  // The first result is read again by the last step.
  options.after_step = [&](const ObservedStep& seen) {
    if (seen.index == 0) victim = &seen.plan.steps[0].results[0];
    if (seen.index != 1) return;
    const auto memory = seen.read(*victim);
    if (memory.ok()) memory->data<float>()[0] += 1;
  };
  const TargetCheckResult result = Checked(kPointwiseProgram, options);
  ASSERT_TRUE(result.differs());
  EXPECT_EQ(result.difference->step, 3);
  EXPECT_THAT(result.difference->difference, HasSubstr("changed since it was computed"));
}

// The difference of a program with 600 buffers, if step 40 writes behind the one that `view` gives.
StepDifference WrittenBehind(const View& (*view)(const ObservedStep&)) {
  std::string inputs, nodes, results;
  for (int i = 0; i < 300; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    absl::StrAppend(&inputs, comma, "%x", i, ": f32[8]");
    absl::StrAppend(&nodes, "  %", i, " = exp(%x", i, ")\n");
    absl::StrAppend(&results, comma, "%", i);
  }
  TargetCheckOptions options;
  options.after_step = [view](const ObservedStep& seen) {
    if (seen.index != 40) return;
    const auto memory = seen.read(view(seen));
    if (memory.ok()) memory->raw()[memory->bytes() + 5] ^= 1;
  };
  const TargetCheckResult result = Checked(
      absl::StrCat("func @main(", inputs, ") {\n", nodes, "  return ", results, "\n}\n"), options);
  EXPECT_TRUE(result.differs());
  return result.difference.value_or(StepDifference());
}

TEST(TargetCheckTest, ZonesOfManyBuffersAreChecked) {
  const StepDifference own = WrittenBehind([](const ObservedStep& seen) -> const View& {
    return seen.plan.steps[seen.index].results[0];
  });
  EXPECT_EQ(own.step, 40);
  EXPECT_THAT(own.difference, testing::StartsWith("byte 37 of "));
  const StepDifference other = WrittenBehind(
      [](const ObservedStep& seen) -> const View& { return seen.plan.input_views[290]; });
  EXPECT_GE(other.step, 40);
  EXPECT_LE(other.step, 43);
  EXPECT_THAT(other.difference, HasSubstr("byte 37 of "));
}

TEST(TargetCheckTest, ReportNamesRoutineLayoutEpilogueAndSources) {
  TargetCheckOptions options;
  options.edit_plan = [](Plan* plan) { plan->steps.back().epilogue.pop_back(); };
  const TargetCheckResult result = Checked(kLinearProgram, options);
  ASSERT_TRUE(result.differs());
  const std::string text = result.ToString();
  EXPECT_THAT(text, testing::ContainsRegex("step 1: library matmul, node [0-9]+ .fused. differs"));
  EXPECT_THAT(text, HasSubstr("routine: "));
  EXPECT_THAT(text, HasSubstr("epilogue: add(f32[6, 10] strides [10, 1] of %r)"));
  EXPECT_THAT(text, HasSubstr("reads f32[6, 10] strides [10, 1] of %v"));
  EXPECT_THAT(text, HasSubstr("source nodes: fc"));
}

TEST(TargetCheckTest, NestedPlansAreCheckedStepByStep) {
  const char text[] = R"(
func @main(%p: bool[], %x: f32[4]) -> f32[4] {
  %0 = cond(%p, %x) : f32[4] {
    then_graph(%a: f32[4]) -> f32[4] {
      %1 = exp(%a) : f32[4]
      %2 = neg(%1) : f32[4]
      return %2
    }
    else_graph(%b: f32[4]) -> f32[4] {
      %1 = tanh(%b) : f32[4]
      return %1
    }
  }
  return %0
}
)";
  EXPECT_FALSE(Checked(text).differs()) << Checked(text).ToString();
  TargetCheckOptions options;
  options.after_step = [](const ObservedStep& seen) {
    const Step& step = seen.plan.steps[seen.index];
    if (step.kind != StepKind::kKernel || seen.plan.steps.size() != 2) return;
    const auto result = seen.read(step.results[0]);
    if (seen.index == 1 && result.ok()) result->data<float>()[3] += 1;
  };
  const TargetCheckResult result = Checked(text, options);
  ASSERT_TRUE(result.differs());
  EXPECT_EQ(result.difference->step, 1);
  EXPECT_THAT(result.difference->what, HasSubstr("neg"));
}

TEST(TargetCheckTest, FaultIsReducedToFewNodes) {
  auto module = Parse(R"(
func @main(%x: f32[s0, 7], %y: f32[s0, 7]) -> f32[s0, 7] where 1 <= s0 <= 64 {
  %0 = exp(%x) : f32[s0, 7]
  %1 = add(%0, %y) : f32[s0, 7]
  %2 = maximum(%1, %x) : f32[s0, 7]
  %3 = tanh(%2) : f32[s0, 7]
  %4 = mul(%3, %y) : f32[s0, 7]
  return %4
}
)");
  TargetCheckOptions options;
  options.edit_plan = [](Plan* plan) {
    for (Kernel& kernel : plan->kernels) {
      for (Instr& instr : kernel.nests[0].stages[0].body) {
        if (instr.op == ScalarOp::kMaximum) instr.op = ScalarOp::kMinimum;
      }
    }
  };
  auto checker = TargetChecker::Create(module->Clone(), options);
  ASSERT_TRUE(checker.ok()) << checker.status();
  TargetCheckResult result;
  (*checker)->CheckSeeded({}, &result);
  ASSERT_TRUE(result.differs());
  auto small = MakeTargetCase((*checker)->module(), *result.difference, options);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->nodes_after, 1) << PrintModule(*small->module);
  EXPECT_TRUE(small->module->main()->first_node()->Is(ops::maximum));
  EXPECT_THAT(small->Text("case.weft"),
              HasSubstr("// run --target=cpu --passes=none --verify=target case.weft"));
}

TEST(TargetCheckTest, GivenInputsAreChecked) {
  auto checker = TargetChecker::Create(Parse(kSoftmaxProgram), {});
  ASSERT_TRUE(checker.ok());
  TargetCheckResult result;
  EXPECT_TRUE((*checker)->Check({HostTensor(DType::kF32, {3, 5, 17})}, &result).ok());
  EXPECT_EQ(result.runs, 1);
  EXPECT_FALSE((*checker)->Check({HostTensor(DType::kF32, {3, 5, 16})}, &result).ok());
}

TEST(TargetCheckTest, ReferenceIsNoTargetToCheck) {
  TargetCheckOptions options;
  options.target = "reference";
  EXPECT_FALSE(TargetChecker::Create(Parse(kSoftmaxProgram), options).ok());
}

TEST(TargetCheckTest, AModuleWithoutMainIsRefused) {
  const auto checker = TargetChecker::Create(Parse("func @f(%x: f32[2]) { return %x }"), {});
  EXPECT_EQ(checker.status().message(), "the module has no function @main");
}

}  // namespace
}  // namespace weft
