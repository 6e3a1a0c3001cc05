#include "backends/cpu/standalone/standalone.h"

#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
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
      const bool evaluated = step.kind == StepKind::kReference;
      const bool library = step.kind == StepKind::kLibrary;
      if (evaluated || (library && !FindRoutineOp(step.op_name))) missing.insert(step.op_name);
    }
  }
  return {missing.begin(), missing.end()};
}

namespace {

// Memory and code for sizes that one run at a time uses.
struct Lane {
  explicit Lane(const StepEvaluator* evaluator) : runtime(device, launcher, evaluator) {}

  HostDevice device;
  CpuLauncher launcher;
  PlanRuntime runtime;
  std::unique_ptr<PlanRunner> runner;
  int64_t generated_steps = 0;  // Of runs that have ended; guarded by the mutex of Impl.
};

}  // namespace

struct Standalone::Impl {
  Plan plan;
  StandaloneOptions options;  // Without kernels.
  std::shared_ptr<PackedWeights> weights = std::make_shared<PackedWeights>();
  std::shared_ptr<const KernelCodeSource> generated;
  absl::Mutex mutex;
  // As many as there were runs at once. The one that was used last is the next one.
  std::vector<std::unique_ptr<Lane>> lanes ABSL_GUARDED_BY(mutex);
  std::vector<Lane*> free ABSL_GUARDED_BY(mutex);

  absl::StatusOr<std::unique_ptr<Lane>> MakeLane() const;
  absl::StatusOr<Lane*> Take();
  void GiveBack(Lane* lane);
};

absl::StatusOr<std::unique_ptr<Lane>> Standalone::Impl::MakeLane() const {
  auto lane = std::make_unique<Lane>(options.evaluator);
  CpuLauncher& launcher = lane->launcher;
  WEFT_RETURN_IF_ERROR(launcher.UseIsa(options.isa));
  launcher.threads = options.threads;
  launcher.dnn_threads = options.threads;
  launcher.weights = weights;
  launcher.generated = generated;
  WEFT_ASSIGN_OR_RETURN(lane->runner, PlanRunner::Create(plan, lane->runtime));
  return lane;
}

absl::StatusOr<Lane*> Standalone::Impl::Take() {
  {
    const absl::MutexLock lock(&mutex);
    if (!free.empty()) {
      Lane* const lane = free.back();
      free.pop_back();
      return lane;
    }
  }
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<Lane> made, MakeLane());
  const absl::MutexLock lock(&mutex);
  lanes.push_back(std::move(made));
  return lanes.back().get();
}

void Standalone::Impl::GiveBack(Lane* lane) {
  const absl::MutexLock lock(&mutex);
  lane->generated_steps = lane->launcher.stats.generated_steps;
  free.push_back(lane);
}

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
  auto impl = std::make_unique<Impl>();
  impl->plan = std::move(plan);
  impl->options = options;
  impl->options.kernels.clear();
  const std::vector<const Plan*> plans = AllPlans(std::as_const(impl->plan));
  WEFT_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa(options.isa));
  WEFT_RETURN_IF_ERROR(CheckSchedules(plans, isa));
  WEFT_RETURN_IF_ERROR(CheckCount(plans, options.kernels.size()));
  if (!options.kernels.empty()) {
    impl->generated = std::make_shared<GivenKernels>(plans, options.kernels);
  }
  {
    const absl::MutexLock lock(&impl->weights->mutex);
    impl->weights->panels.UseConstants(impl->plan.constants);
  }
  WEFT_ASSIGN_OR_RETURN(Lane* const first, impl->Take());
  impl->GiveBack(first);
  return std::unique_ptr<Standalone>(new Standalone(std::move(impl)));
}

absl::Status Standalone::Run(absl::Span<const HostTensor> inputs,
                             std::vector<HostTensor>* outputs) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WEFT_ASSIGN_OR_RETURN(Lane* const lane, impl_->Take());
    const absl::Cleanup give_back = [&] { impl_->GiveBack(lane); };
    const ThreadScope threads(lane->launcher.dnn_threads);
    return lane->runner->Run(inputs, {}, outputs);
  });
}

std::vector<std::pair<int, PackedConstant>> Standalone::Packed() const {
  const absl::MutexLock lock(&impl_->weights->mutex);
  return impl_->weights->panels.Packed();
}

int64_t Standalone::generated_steps() const {
  const absl::MutexLock lock(&impl_->mutex);
  int64_t steps = 0;
  for (const auto& lane : impl_->lanes) steps += lane->generated_steps;
  return steps;
}

}  // namespace weft::cpu
