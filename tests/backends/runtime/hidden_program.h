// Programs on a hidden device.
#ifndef WEFT_TESTS_BACKENDS_RUNTIME_HIDDEN_PROGRAM_H_
#define WEFT_TESTS_BACKENDS_RUNTIME_HIDDEN_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/launcher.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "backends/step_reference.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/runtime/hidden_device.h"
#include "tests/backends/runtime/run_plan.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {

inline HostTensor Ramp(std::vector<int64_t> dims, DType dtype = DType::kF32) {
  HostTensor t(dtype, std::move(dims));
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 48271 % 97) - 48) / 50;
  }
  t.WriteDoubles(values);
  return t;
}

inline HostTensor Ints(std::vector<int64_t> dims, const std::vector<double>& values) {
  HostTensor t(DType::kI64, std::move(dims));
  t.WriteDoubles(values);
  return t;
}

// A program on a hidden device, with everything that it needs.
class HiddenProgram {
 public:
  explicit HiddenProgram(const std::string& text, const StepEvaluator* evaluator = &OpEvaluator())
      : module_(Parse(text)), runtime_(device_, launcher_, evaluator) {
    UseAvx2(&host_);
    auto plan = Lower(*module_->main(), cpu::CpuTarget());
    EXPECT_TRUE(plan.ok()) << plan.status();
    plan_ = *std::move(plan);
    auto runner = PlanRunner::Create(plan_, runtime_);
    EXPECT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs) {
    return RunPlan(*runner_, inputs);
  }

  void ExpectAsReference(const std::vector<HostTensor>& inputs) {
    const auto want = reference::Run(*module_->main(), inputs);
    const auto got = Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], (*want)[i], {1e-4, 1e-4}), "") << "output " << i;
    }
  }

  HiddenDevice& device() { return device_; }
  const RunStats& stats() const { return runtime_.stats; }

 private:
  std::unique_ptr<Module> module_;
  HiddenDevice device_;
  cpu::CpuLauncher host_;
  HiddenLauncher launcher_{device_, host_};
  PlanRuntime runtime_;
  Plan plan_;
  std::unique_ptr<PlanRunner> runner_;
};

// Each call that a run of the first inputs makes fails once: the run says so, and the runs behind
// it, of all inputs, are right.
inline void ExpectRunsAgainAfterEveryFailure(const std::string& text,
                                             const std::vector<std::vector<HostTensor>>& inputs) {
  using Call = HiddenDevice::Call;
  for (const Call call :
       {Call::kAllocate, Call::kCopyIn, Call::kCopyOut, Call::kLaunch, Call::kWait}) {
    int64_t failures = 0;
    for (int64_t n = 1;; ++n) {
      HiddenProgram program(text);
      program.device().FailAt(call, n);
      const auto got = program.Run(inputs[0]);
      program.device().FailAt(call, 0);
      if (got.ok()) break;
      ++failures;
      EXPECT_EQ(got.status().code(), absl::StatusCode::kUnavailable) << got.status();
      for (const auto& again : inputs) program.ExpectAsReference(again);
    }
    EXPECT_GT(failures, 0) << static_cast<int>(call);
  }
}

}  // namespace weft

#endif  // WEFT_TESTS_BACKENDS_RUNTIME_HIDDEN_PROGRAM_H_
