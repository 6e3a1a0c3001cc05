#include "backends/cpu/executable.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "backends/cpu/evaluator.h"
#include "backends/cpu/generated.h"
#include "backends/cpu/launcher.h"
#include "backends/cpu/target.h"
#include "backends/cpu/threads/available_cpus.h"
#include "backends/cpu/threads/host_loop.h"
#include "backends/cpu/threads/thread_governor.h"
#include "backends/cpu/threads/thread_scope.h"
#include "backends/runtime/host_device.h"
#include "backends/runtime/logs.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "lowering/check_schedule.h"
#include "lowering/plan_facts.h"
#include "lowering/schedule_kernel.h"
#include "lowering/write_backs.h"

namespace weft::cpu {
namespace {

// Kernels of the plan and of its nested plans.
std::vector<Kernel*> KernelsOf(Plan& main, int64_t* steps) {
  std::vector<Kernel*> kernels;
  std::vector<Plan*> plans = {&main};
  for (size_t i = 0; i < plans.size(); ++i) {
    for (Kernel& kernel : plans[i]->kernels) kernels.push_back(&kernel);
    *steps += static_cast<int64_t>(plans[i]->steps.size());
    for (const Step& step : plans[i]->steps) {
      for (const auto& region : step.regions) plans.push_back(region.get());
    }
  }
  return kernels;
}

// Kernels keep their schedules if all have the same number of lanes and this machine has as many.
// Otherwise the plan was made for wider vectors, or without a machine, and all kernels are
// scheduled again.
absl::Status FitSchedules(const std::vector<Kernel*>& kernels, const SymbolTable& symbols,
                          Isa isa) {
  const Target machine = TargetOf(isa);
  const bool fit = std::all_of(kernels.begin(), kernels.end(), [&](const Kernel* kernel) {
    const int lanes = kernel->schedule.lanes;
    return kernel->schedule.decided() && lanes == kernels[0]->schedule.lanes &&
           lanes <= LanesOf(machine);
  });
  for (Kernel* kernel : kernels) {
    if (!fit) kernel->schedule = DecideSchedule(*kernel, machine, &symbols);
    WEFT_RETURN_IF_ERROR(CheckSchedule(*kernel));
  }
  return absl::OkStatus();
}

int DefaultThreads() {
  return std::min({omp_get_max_threads(), AvailableCpus(), +CpuOptions::kMaxThreads});
}

absl::StatusOr<DnnReading> ReadingFor(const std::string& f32_precision) {
  // Three bf16 matmuls are faster than one in f32 only on AMX tiles.
  const DnnUnit unit = FindBf16Unit();
  DnnReading bf16;
  bf16.dtype = DType::kBF16;
  if (f32_precision == "highest") return DnnReading();
  if (f32_precision == "high") {
    bf16.x_parts = {SplitPart::kHigh, SplitPart::kHigh, SplitPart::kLow};
    bf16.weight_parts = {SplitPart::kHigh, SplitPart::kLow, SplitPart::kHigh};
    return unit == DnnUnit::kTiles ? bf16 : DnnReading();
  }
  if (f32_precision == "medium") return unit == DnnUnit::kNone ? DnnReading() : bf16;
  return absl::InvalidArgumentError(absl::StrCat("unknown precision \"", f32_precision,
                                                 "\" of f32; they are highest, high and medium"));
}

}  // namespace

struct Executable::Impl {
  absl::Mutex mutex;  // Held during a run.
  Plan plan;
  HostDevice device;
  CpuLauncher launcher;
  GeneratedKernels* generated = nullptr;  // The launcher's; null if no code is generated.
  PlanRuntime runtime{device, launcher, &CpuEvaluator()};
  std::unique_ptr<PlanRunner> runner;
  int64_t kernels = 0;  // Kernels in the plan and its nested plans; likewise `steps`.
  int64_t steps = 0;
  bool deterministic = false;
  // Null: every run uses the same number of threads.
  std::unique_ptr<ThreadGovernor> governor;

  // Called around each run.
  void BeginRun();
  void EndRun() {
    if (governor != nullptr && !HasHostLoop()) governor->EndRun();
  }
};

void Executable::Impl::BeginRun() {
  // The governor measures OpenMP's threads.
  if (governor == nullptr || HasHostLoop()) return;
  const int threads = governor->BeginRun();
  if (threads == launcher.threads) return;
  Log(executor_log, absl::StrCat("threads: ", threads, ", before ", launcher.threads));
  launcher.threads = threads;
  launcher.dnn_threads = deterministic ? 1 : threads;
}

Executable::Executable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executable::~Executable() = default;

absl::StatusOr<std::unique_ptr<Executable>> Executable::Create(Plan plan,
                                                               const CpuOptions& options) {
  if (options.threads < 0 || options.threads > CpuOptions::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "threads must be from 0 to ", +CpuOptions::kMaxThreads, ", not ", options.threads));
  }
  WEFT_RETURN_IF_ERROR(CheckWriteBacks(plan));
  auto impl = std::make_unique<Impl>();
  impl->plan = std::move(plan);
  impl->runtime.observer = options.observer;
  if (options.guard_memory) impl->runtime.guard = std::make_unique<MemoryGuard>();
  CpuLauncher& launcher = impl->launcher;
  WEFT_RETURN_IF_ERROR(launcher.UseIsa(options.isa));
  launcher.threads = options.threads > 0 ? options.threads : DefaultThreads();
  launcher.dnn_threads = options.deterministic ? 1 : launcher.threads;
  impl->deterministic = options.deterministic;
  if (options.threads == 0 && launcher.threads > 1) {
    impl->governor = std::make_unique<ThreadGovernor>(
        launcher.threads, options.load != nullptr ? options.load : MakeLoadSource());
  }
  WEFT_ASSIGN_OR_RETURN(launcher.reading, ReadingFor(options.f32_precision));
  if (options.f32_precision != "highest" && launcher.reading.dtype == DType::kF32) {
    Log(executor_log, absl::StrCat("f32_precision ", options.f32_precision,
                                   ": this machine has no fast products of bf16; f32 stays"));
  }
  const std::vector<Kernel*> kernels = KernelsOf(impl->plan, &impl->steps);
  WEFT_RETURN_IF_ERROR(FitSchedules(kernels, FactsOf(impl->plan), launcher.isa));
  impl->kernels = static_cast<int64_t>(kernels.size());
  // If generated code can call SLEEF, its results equal the interpreter's in every bit. Otherwise,
  // switching to it between two calls would change the last bits of the results.
  const bool now = options.code == CpuOptions::Code::kBeforeCreation || options.deterministic;
  if (options.code != CpuOptions::Code::kNone && !kernels.empty()) {
    JitOptions jit;
    jit.compiler = options.compiler;
    jit.cache_dir = options.cache_dir;
    jit.idle = !now;
    auto generated = std::make_unique<GeneratedKernels>(
        std::vector<const Kernel*>(kernels.begin(), kernels.end()), launcher.isa, std::move(jit));
    // Without a compiler the interpreter continues.
    if (now) generated->Wait().IgnoreError();
    impl->generated = generated.get();
    launcher.generated = std::move(generated);
  }
  WEFT_ASSIGN_OR_RETURN(impl->runner, PlanRunner::Create(impl->plan, impl->runtime));
  return std::unique_ptr<Executable>(new Executable(std::move(impl)));
}

absl::Status Executable::Run(absl::Span<const HostTensor> inputs,
                             std::vector<HostTensor>* outputs) {
  return Run(inputs, {}, outputs);
}

absl::Status Executable::Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                             std::vector<HostTensor>* outputs) {
  absl::MutexLock lock(&impl_->mutex);
  impl_->BeginRun();
  const ThreadScope threads(impl_->launcher.dnn_threads);
  const absl::Status status =
      CatchOutOfMemory([&] { return impl_->runner->Run(inputs, donated, outputs); });
  impl_->EndRun();
  return status;
}

absl::StatusOr<std::vector<HostTensor>> Executable::Run(absl::Span<const HostTensor> inputs) {
  std::vector<HostTensor> outputs;
  WEFT_RETURN_IF_ERROR(Run(inputs, &outputs));
  return outputs;
}

absl::Status Executable::WaitForCode() {
  return impl_->generated == nullptr ? absl::OkStatus() : impl_->generated->Wait();
}

CpuStats Executable::stats() const {
  absl::MutexLock lock(&impl_->mutex);
  const CpuLauncher& launcher = impl_->launcher;
  CpuStats stats;
  static_cast<RunStats&>(stats) = impl_->runtime.stats;
  static_cast<LauncherStats&>(stats) = launcher.stats;
  stats.kernels = impl_->kernels;
  stats.steps = impl_->steps;
  stats.threads = launcher.threads;
  {
    PackedWeights& weights = *launcher.weights;
    const absl::MutexLock weights_lock(&weights.mutex);
    stats.packed_bytes = weights.dnn.bytes() + weights.panels.bytes() + weights.integers.bytes();
    stats.panel_bytes = weights.panels.bytes();
  }
  const GeneratedKernels* code = impl_->generated;
  if (code != nullptr && code->ready()) {
    stats.generated_kernels = static_cast<int64_t>(code->size());
    stats.code_seconds = code->seconds();
    stats.code_from_cache = code->stats().from_cache;
  }
  return stats;
}

}  // namespace weft::cpu
