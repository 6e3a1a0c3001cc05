#include "backends/cuda/executable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "lowering/write_backs_check.h"

namespace weft::cuda {

CudaExecutable::CudaExecutable(Plan plan, std::shared_ptr<CudaDevice> device,
                               std::unique_ptr<CudaLauncher> launcher, const ExecutableHooks& hooks)
    : PlanExecutable(std::move(plan), device, std::move(launcher), hooks),
      device_(*device),
      launcher_(static_cast<CudaLauncher&>(runtime().launcher)) {}

// Memory and modules are freed in the context of the device, when nothing uses them. An error there
// was reported before, or nothing waited for the run that it belongs to.
CudaExecutable::~CudaExecutable() {
  device_.MakeCurrent().IgnoreError();
  device_.Wait().IgnoreError();
}

absl::StatusOr<std::unique_ptr<CudaExecutable>> CudaExecutable::Create(
    const Libraries& libraries, const CudaOptions& options, Plan plan,
    const ExecutableHooks& hooks) {
  WEFT_RETURN_IF_ERROR(CheckWriteBacks(plan));
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<CudaDevice> device,
                        CudaDevice::Open(libraries, options.ordinal, options.cupti));
  device->set_graphs(options.graphs);
  device->set_f32_products(options.f32_products);
  auto launcher = std::make_unique<CudaLauncher>(*device, options.cublaslt);
  if (!options.cache_dir.empty()) {
    WEFT_ASSIGN_OR_RETURN(CubinCache cache, CubinCache::Open(options.cache_dir));
    launcher->set_cache(std::move(cache));
  }
  launcher->cublaslt().set_tf32(options.f32_products == 1);
  // A library that was named is opened at once, so that a wrong name is an error.
  if (!options.cublaslt.empty()) {
    WEFT_RETURN_IF_ERROR(launcher->cublaslt().Open().status());
  }
  std::unique_ptr<CudaExecutable> made(
      new CudaExecutable(std::move(plan), std::move(device), std::move(launcher), hooks));
  WEFT_RETURN_IF_ERROR(made->launcher_.CompilePlan(made->plan()));
  WEFT_RETURN_IF_ERROR(made->MakeRunner());
  return made;
}

// Flags stay set until they are looked for, so that a run which need not wait does so only if the
// former runs are done.
absl::Status CudaExecutable::Begin(bool ordered) {
  WEFT_RETURN_IF_ERROR(device_.MakeCurrent());
  if (!unchecked_) return absl::OkStatus();
  if (!ordered) {
    WEFT_RETURN_IF_ERROR(device_.Wait());
  } else {
    WEFT_ASSIGN_OR_RETURN(const bool done, device_.HasReachedHold());
    if (!done) return absl::OkStatus();
  }
  unchecked_ = false;
  return Annotate(launcher_.CheckIndices(), "in an earlier run");
}

// Late errors and flags belong to this run, even if it has an error already.
absl::Status CudaExecutable::End(absl::Status status, bool pending) {
  if (status.ok() && pending) {
    unchecked_ = launcher_.checks_indices();
    return status;
  }
  if (status.ok()) return launcher_.CheckIndices();
  const absl::Status earlier = unchecked_ ? launcher_.CheckErrors() : absl::OkStatus();
  unchecked_ = false;
  launcher_.ClearFlags().IgnoreError();
  if (earlier.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "; in this run or an earlier ",
                                                  "one: ", earlier.message()));
}

absl::Status CudaExecutable::WaitForStream(void* stream) {
  return device_.WaitFor(static_cast<CuStream>(stream));
}

absl::Status CudaExecutable::HoldStream(void* stream) {
  return device_.Hold(static_cast<CuStream>(stream));
}

void CudaExecutable::AddCounters(Counters* counters) const {
  const Counters own = {
      {"kernels", launcher_.kernels()},
      {"compiled_units", launcher_.compiled_units()},
      {"cached_units", launcher_.cached_units()},
      {"host_steps", launcher_.host_steps()},
      {"launches", device_.launches()},
      {"cublaslt_calls", launcher_.cublaslt().calls()},
      {"graph_launches", device_.graph_launches()},
      {"graph_instantiations", device_.graph_instantiations()},
      {"graph_updates", device_.graph_updates()},
  };
  counters->insert(own.begin(), own.end());
}

}  // namespace weft::cuda
