// The executor of plans on a device that shares nothing with the host.
#include "tests/backends/runtime/hidden_device.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/launcher.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "backends/step_reference.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/runtime/hidden_program.h"
#include "tests/support/parse.h"
#include "tests/support/programs.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::HasSubstr;

using Program = HiddenProgram;

constexpr char kBlock[] = R"(
  func @main(%x: f32[s0, 96], %w: f32[96, 96], %b: f32[96]) -> (f32[s0, 96]) where 1 <= s0 {
    %0 = linear(%x, %w, %b)
    %1 = gelu(%0)
    %2 = add(%1, %x)
    %3 = softmax(%2, dim=-1)
    return %3
  })";

TEST(HiddenDevice, RunsKernelsAndRoutinesOfEverySize) {
  Program program(kBlock);
  for (int64_t n : {1, 7, 64, 7}) {
    program.ExpectAsReference({Ramp({n, 96}), Ramp({96, 96}), Ramp({96})});
  }
  EXPECT_EQ(program.stats().assignments, 3);
  EXPECT_EQ(program.stats().fallbacks, 0);
  EXPECT_GT(program.device().calls(HiddenDevice::Call::kLaunch), 0);
}

TEST(HiddenDevice, AllocatesNothingInASteadyState) {
  Program program(kBlock);
  const std::vector<HostTensor> inputs = {Ramp({8, 96}), Ramp({96, 96}), Ramp({96})};
  program.ExpectAsReference(inputs);
  const int64_t before = program.device().calls(HiddenDevice::Call::kAllocate);
  program.ExpectAsReference(inputs);
  EXPECT_EQ(program.device().calls(HiddenDevice::Call::kAllocate), before);
}

TEST(HiddenDevice, CopiesConstantsInOnce) {
  Program program(R"(
    func @main(%x: f32[2, 3]) -> (f32[2, 3]) {
      %c = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
      %0 = add(%x, %c)
      return %0
    })");
  program.ExpectAsReference({Ramp({2, 3})});
  const int64_t copies = program.device().calls(HiddenDevice::Call::kCopyIn);
  program.ExpectAsReference({Ramp({2, 3})});
  // The input alone.
  EXPECT_EQ(program.device().calls(HiddenDevice::Call::kCopyIn), copies + 1);
}

TEST(HiddenDevice, ReturnsViewsConstantsAndInputs) {
  Program program(R"(
    func @main(%x: f32[s0, 6], %y: f32[4]) -> (f32[6, s0], f32[s0, 2], f32[4], f32[0])
        where 1 <= s0 {
      %0 = permute(%x, dims=[1, 0])
      %1 = slice(%x, dim=1, start=2, end=4, step=1)
      %2 = slice(%y, dim=0, start=4, end=4, step=1)
      return %0, %1, %y, %2
    })");
  program.ExpectAsReference({Ramp({5, 6}), Ramp({4})});
  // Inputs with gaps, too.
  const auto wide = Ramp({6, 5});
  const auto turned = HostTensor::View(wide.buffer(), DType::kF32, {5, 6}, {1, 5}, 0);
  ASSERT_TRUE(turned.ok());
  program.ExpectAsReference({*turned, Ramp({4})});
}

TEST(HiddenDevice, EvaluatesOnTheHostWhatItHasNoCodeFor) {
  Program program(R"(
    func @main(%x: f32[s0, 4]) -> (i64[u0, 2], f32[s0, 4]) where 1 <= s0 {
      %0 = relu(%x)
      %1 = nonzero(%0) : i64[u0, 2]
      %2 = cumsum(%0, dim=0)
      return %1, %2
    })");
  program.ExpectAsReference({Ramp({3, 4})});
  program.ExpectAsReference({Ramp({9, 4})});
}

TEST(HiddenDevice, RunsNestedPlans) {
  Program program(kBranchProgram);
  for (const bool p : {true, false}) {
    HostTensor flag(DType::kBool, {});
    flag.WriteDoubles({p ? 1.0 : 0.0});
    program.ExpectAsReference({flag, Ramp({3, 4})});
  }
}

TEST(HiddenDevice, RefusesWhatBreaksAFact) {
  Program program(kBlock);
  const auto got = program.Run({Ramp({2, 96}), Ramp({96, 96}), Ramp({95})});
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(got.status().message(), HasSubstr("input 2 (b)"));
}

TEST(HiddenDevice, NamesTheStepThatIsOutOfBounds) {
  Program program(R"(
    func @main(%x: f32[4, 3], %i: i64[2]) -> (f32[2, 3]) {
      %0 = index_select(%x, %i, dim=0)
      return %0
    })");
  program.ExpectAsReference({Ramp({4, 3}), Ints({2}, {3, 0})});
  EXPECT_FALSE(program.Run({Ramp({4, 3}), Ints({2}, {3, 4})}).ok());
  program.ExpectAsReference({Ramp({4, 3}), Ints({2}, {1, 2})});
}

TEST(HiddenDevice, WithoutAnEvaluatorAStepWithoutCodeIsAnError) {
  Program program(R"(
    func @main(%x: f32[5]) -> (i64[u0, 1]) {
      %0 = nonzero(%x) : i64[u0, 1]
      return %0
    })",
                  nullptr);
  const auto got = program.Run({Ramp({5})});
  EXPECT_EQ(got.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(got.status().message(), HasSubstr("nonzero"));
}

TEST(HiddenDevice, RunsAgainAfterEveryFailure) {
  ExpectRunsAgainAfterEveryFailure(kBlock, {{Ramp({3, 96}), Ramp({96, 96}), Ramp({96})},
                                            {Ramp({5, 96}), Ramp({96, 96}), Ramp({96})}});
}

TEST(HiddenDevice, NamesTheStepWhoseLaunchFails) {
  Program program(kBlock);
  program.device().FailAt(HiddenDevice::Call::kLaunch, 1);
  const auto got = program.Run({Ramp({3, 96}), Ramp({96, 96}), Ramp({96})});
  EXPECT_THAT(got.status().message(), HasSubstr("linear"));
}

TEST(HiddenDevice, GivesAllMemoryBack) {
  HiddenDevice device;
  {
    cpu::CpuLauncher host;
    host.isa = *cpu::ChooseIsa("avx2");
    host.table = cpu::Avx2TileTable();
    HiddenLauncher launcher(device, host);
    PlanRuntime runtime(device, launcher, &OpEvaluator());
    const auto module = Parse(kBlock);
    const auto plan = Lower(*module->main(), cpu::CpuTarget());
    ASSERT_TRUE(plan.ok());
    auto runner = PlanRunner::Create(*plan, runtime);
    ASSERT_TRUE(runner.ok());
    std::vector<HostTensor> outputs;
    ASSERT_TRUE((*runner)->Run({Ramp({3, 96}), Ramp({96, 96}), Ramp({96})}, {}, &outputs).ok());
    EXPECT_GT(device.live_bytes(), 0);
  }
  EXPECT_EQ(device.live_bytes(), 0);
}

}  // namespace
}  // namespace weft
