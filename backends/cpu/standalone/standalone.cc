#include "backends/cpu/standalone/standalone.h"

#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/launcher.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/standalone/needed_kernels.h"
#include "backends/cpu/threads/thread_scope.h"
#include "backends/runtime/host_device.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "lowering/check_schedule.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"

namespace weft::cpu {
namespace {

int LanesOf(Isa isa) { return isa == Isa::kAvx512 ? 16 : 8; }

absl::Status CheckSchedules(const std::vector<const Plan*>& plans, Isa isa) {
  for (const Plan* plan : plans) {
    for (const Kernel& kernel : plan->kernels) {
      const int lanes = kernel.schedule.lanes;
      if (!kernel.schedule.decided() || lanes > LanesOf(isa)) {
        return absl::FailedPreconditionError(
            absl::StrCat("kernel @", kernel.name, " is scheduled for ", lanes, " lanes, and ",
                         IsaName(isa), " has ", LanesOf(isa)));
      }
      WEFT_RETURN_IF_ERROR(CheckSchedule(kernel));
    }
  }
  return absl::OkStatus();
}

// Code that came with the plan.
class GivenKernels : public KernelCodeSource {
 public:
  GivenKernels(const std::vector<const Plan*>& plans, std::vector<GeneratedKernel> kernels)
      : kernels_(std::move(kernels)) {
    size_t next = 0;
    for (const Plan* plan : plans) {
      for (const Kernel& kernel : plan->kernels) {
        const GeneratedKernel& code = kernels_[next++];
        if (code.fn != nullptr) found_[&kernel] = &code;
      }
    }
  }
  bool ready() const override { return true; }
  const GeneratedKernel* Find(const Kernel* kernel) const override {
    const auto it = found_.find(kernel);
    return it == found_.end() ? nullptr : it->second;
  }

 private:
  const std::vector<GeneratedKernel> kernels_;
  absl::flat_hash_map<const Kernel*, const GeneratedKernel*> found_;
};

absl::Status CheckCount(const std::vector<const Plan*>& plans, size_t given) {
  size_t kernels = 0;
  for (const Plan* plan : plans) kernels += plan->kernels.size();
  if (given == 0 || given == kernels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the plan has ", kernels, " kernels, and there is code of ", given));
}

}  // namespace

std::vector<std::string> MissingOps(const Plan& plan) {
  std::set<std::string> missing;
  for (const Plan* p : AllPlans(plan)) {
    for (const Step& step : p->steps) {
      const bool host = step.kind == StepKind::kReference || step.kind == StepKind::kControl;
      const bool library = step.kind == StepKind::kLibrary;
      if (host || (library && !FindRoutineOp(step.op_name))) missing.insert(step.op_name);
    }
  }
  return {missing.begin(), missing.end()};
}

struct Standalone::Impl {
  absl::Mutex mutex;  // Held during a run.
  explicit Impl(const StepEvaluator* evaluator) : runtime(device, launcher, evaluator) {}

  Plan plan;
  HostDevice device;
  CpuLauncher launcher;
  PlanRuntime runtime;
  std::unique_ptr<PlanRunner> runner;
};

Standalone::Standalone(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Standalone::~Standalone() = default;

absl::StatusOr<std::unique_ptr<Standalone>> Standalone::Create(Plan plan,
                                                               const StandaloneOptions& options) {
  if (options.threads < 1 || options.threads > StandaloneOptions::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "threads must be from 1 to ", +StandaloneOptions::kMaxThreads, ", not ", options.threads));
  }
  const std::vector<std::string> missing = MissingOps(plan);
  if (!missing.empty() && options.evaluator == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "plan @", plan.name, " needs ops that this program lacks: ", absl::StrJoin(missing, ", ")));
  }
  const std::vector<std::string> kernels = MissingKernels(plan);
  if (!kernels.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "plan @", plan.name,
        " needs kernels that this program is built without: ", absl::StrJoin(kernels, ", ")));
  }
  auto impl = std::make_unique<Impl>(options.evaluator);
  impl->plan = std::move(plan);
  CpuLauncher& launcher = impl->launcher;
  WEFT_RETURN_IF_ERROR(launcher.UseIsa(options.isa));
  const std::vector<const Plan*> plans = AllPlans(std::as_const(impl->plan));
  WEFT_RETURN_IF_ERROR(CheckSchedules(plans, launcher.isa));
  WEFT_RETURN_IF_ERROR(CheckCount(plans, options.kernels.size()));
  if (!options.kernels.empty()) {
    launcher.generated = std::make_unique<GivenKernels>(plans, options.kernels);
  }
  launcher.panels.UseConstants(impl->plan.constants);
  launcher.threads = options.threads;
  launcher.dnn_threads = options.threads;
  WEFT_ASSIGN_OR_RETURN(impl->runner, PlanRunner::Create(impl->plan, impl->runtime));
  return std::unique_ptr<Standalone>(new Standalone(std::move(impl)));
}

absl::Status Standalone::Run(absl::Span<const HostTensor> inputs,
                             std::vector<HostTensor>* outputs) {
  absl::MutexLock lock(&impl_->mutex);
  const ThreadScope threads(impl_->launcher.dnn_threads);
  return CatchOutOfMemory([&] { return impl_->runner->Run(inputs, {}, outputs); });
}

std::vector<std::pair<int, PackedConstant>> Standalone::Packed() const {
  absl::MutexLock lock(&impl_->mutex);
  return impl_->launcher.panels.Packed();
}

int64_t Standalone::generated_steps() const {
  absl::MutexLock lock(&impl_->mutex);
  return impl_->launcher.stats.generated_steps;
}

}  // namespace weft::cpu
