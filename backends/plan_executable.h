// The executable of a plan on a device with a launcher of its own. Calls from several threads run
// one after another.
#ifndef WEFT_BACKENDS_PLAN_EXECUTABLE_H_
#define WEFT_BACKENDS_PLAN_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/runtime/device.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "backends/runtime/step_launcher.h"
#include "lowering/plan.h"

namespace weft {

class PlanExecutable : public Executable {
 public:
  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) final;
  bool has_device_memory() const final { return !device_->host_visible(); }
  const void* memory_space() const final { return device_->memory_space(); }
  absl::Status RunOnDevice(absl::Span<const DeviceTensor> inputs, const std::vector<bool>& donated,
                           const DeviceRunOptions& options, std::vector<DeviceTensor>* outputs,
                           std::vector<DeviceTensor>* written) final;
  absl::Status Synchronize() final;
  absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor) final;
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) final;
  // Those of every such executable, and AddCounters.
  Counters counters() const final;

 protected:
  // Steps without code are evaluated on the host.
  PlanExecutable(Plan plan, std::shared_ptr<Device> device, std::unique_ptr<StepLauncher> launcher,
                 const ExecutableHooks& hooks);
  // Copies constants to the device. The launcher is ready to compile the plan's steps.
  absl::Status MakeRunner();

  // Called with the device not in use by another thread: before it is used, and after a run.
  // `ordered`: for a run with a stream of the caller, which need not wait for the runs before.
  // `status` is the run's, and `pending` whether nothing has waited for it; the result is what the
  // caller gets.
  virtual absl::Status Begin(bool ordered) {
    static_cast<void>(ordered);
    return absl::OkStatus();
  }
  virtual absl::Status End(absl::Status status, bool pending) {
    static_cast<void>(pending);
    return status;
  }
  // Orders work behind what the caller's stream was given so far, and the stream behind the work.
  virtual absl::Status WaitForStream(void* stream);
  virtual absl::Status HoldStream(void* stream);
  virtual void AddCounters(Counters* counters) const = 0;

  const Plan& plan() const { return plan_; }
  PlanRuntime& runtime() { return runtime_; }

 private:
  // `run` runs the plan and sets `outputs`.
  template <typename Tensor>
  absl::Status RunLocked(bool ordered, absl::FunctionRef<absl::Status()> run,
                         std::vector<Tensor>* outputs, std::vector<Tensor>* written);
  absl::Status RunBehind(void* stream, absl::FunctionRef<absl::Status()> run);

  mutable absl::Mutex mutex_;
  // Members below use members above.
  const Plan plan_;
  const std::shared_ptr<Device> device_;  // Tensors that stay on the device keep it, too.
  const std::unique_ptr<StepLauncher> launcher_;
  PlanRuntime runtime_;
  std::unique_ptr<PlanRunner> runner_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_PLAN_EXECUTABLE_H_
