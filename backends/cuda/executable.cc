#include "backends/cuda/executable.h"

#include <utility>

#include "backends/runtime/logs.h"
#include "backends/step_reference.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "lowering/write_backs.h"

namespace weft::cuda {

CudaExecutable::CudaExecutable(Plan plan, std::unique_ptr<CudaDevice> device,
                               const CudaOptions& options)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      launcher_(*device_, options.cublaslt),
      runtime_(*device_, launcher_, &OpEvaluator()) {
  runtime_.set_owner(device_);
}

// Memory and modules are freed in the context of the device. An error there was reported before.
CudaExecutable::~CudaExecutable() { device_->MakeCurrent().IgnoreError(); }

absl::StatusOr<std::unique_ptr<CudaExecutable>> CudaExecutable::Create(
    const Libraries& libraries, const CudaOptions& options, Plan plan,
    const ExecutableHooks& hooks) {
  WEFT_RETURN_IF_ERROR(CheckWriteBacks(plan));
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device,
                        CudaDevice::Open(libraries, options.ordinal, options.cupti));
  device->set_graphs(options.graphs);
  device->set_f32_products(options.f32_products);
  std::unique_ptr<CudaExecutable> made(
      new CudaExecutable(std::move(plan), std::move(device), options));
  made->runtime_.observer = hooks.observer;
  if (hooks.guard_memory) {
    Log(executor_log, "the memory of a CUDA device is not the host's and is not guarded");
  }
  if (!options.cache_dir.empty()) {
    WEFT_ASSIGN_OR_RETURN(CubinCache cache, CubinCache::Open(options.cache_dir));
    made->launcher_.set_cache(std::move(cache));
  }
  made->launcher_.cublaslt().set_tf32(options.f32_products == 1);
  // A library that was named is opened at once, so that a wrong name is an error.
  if (!options.cublaslt.empty()) {
    WEFT_RETURN_IF_ERROR(made->launcher_.cublaslt().Open().status());
  }
  WEFT_RETURN_IF_ERROR(made->launcher_.CompilePlan(made->plan_));
  WEFT_ASSIGN_OR_RETURN(made->runner_, PlanRunner::Create(made->plan_, made->runtime_));
  // Waits for the copies of the constants.
  WEFT_RETURN_IF_ERROR(made->device_->Wait());
  return made;
}

template <typename Tensor>
absl::Status CudaExecutable::RunAndCheck(absl::FunctionRef<absl::Status()> run,
                                         std::vector<Tensor>* outputs,
                                         std::vector<Tensor>* written) {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(device_->MakeCurrent());
  outputs->clear();
  const absl::Status status = CatchOutOfMemory(run);
  // Late errors and flags belong to this run, even if it has an error already.
  if (!status.ok()) {
    launcher_.ClearFlags().IgnoreError();
    return status;
  }
  const absl::Status indices = launcher_.CheckIndices();
  if (!indices.ok()) {
    outputs->clear();
    return indices;
  }
  TakeWriteBacks(plan_.write_backs, plan_.inputs.size(), outputs, written);
  return absl::OkStatus();
}

absl::Status CudaExecutable::Run(absl::Span<const HostTensor> inputs,
                                 const std::vector<bool>& donated, std::vector<HostTensor>* outputs,
                                 std::vector<HostTensor>* written) {
  const auto run = [&] { return runner_->Run(inputs, donated, outputs); };
  return RunAndCheck<HostTensor>(run, outputs, written);
}

absl::Status CudaExecutable::RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                         const std::vector<bool>& donated,
                                         std::vector<DeviceTensor>* outputs,
                                         std::vector<DeviceTensor>* written) {
  const auto run = [&] { return runner_->RunOnDevice(inputs, donated, outputs); };
  return RunAndCheck<DeviceTensor>(run, outputs, written);
}

absl::StatusOr<DeviceTensor> CudaExecutable::ToDevice(const HostTensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(device_->MakeCurrent());
  return runtime_.ToDevice(tensor);
}

absl::StatusOr<HostTensor> CudaExecutable::ToHost(const DeviceTensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(device_->MakeCurrent());
  return runtime_.ToHost(tensor);
}

Counters CudaExecutable::counters() const {
  const absl::MutexLock lock(&mutex_);
  const RunStats& stats = runtime_.stats;
  return {
      {"steps", static_cast<int64_t>(plan_.steps.size())},
      {"kernels", launcher_.kernels()},
      {"compiled_units", launcher_.compiled_units()},
      {"cached_units", launcher_.cached_units()},
      {"assignments", stats.assignments},
      {"compiled_steps", stats.compiled_steps},
      {"allocations", stats.allocations},
      {"arena_bytes", stats.arena_bytes},
      {"scratch_bytes", stats.scratch_bytes},
      {"fallbacks", stats.fallbacks},
      {"in_place_writes", stats.in_place_writes},
      {"host_steps", launcher_.host_steps()},
      {"launches", device_->launches()},
      {"cublaslt_calls", launcher_.cublaslt().calls()},
      {"graph_launches", device_->graph_launches()},
      {"graph_instantiations", device_->graph_instantiations()},
      {"graph_updates", device_->graph_updates()},
  };
}

}  // namespace weft::cuda
