// State shared by the runners of a plan and its nested plans.
#ifndef WEFT_BACKENDS_RUNTIME_PLAN_RUNTIME_H_
#define WEFT_BACKENDS_RUNTIME_PLAN_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/runtime/device.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/guarded_memory.h"
#include "backends/runtime/host_memory.h"
#include "backends/runtime/run_stats.h"
#include "backends/runtime/step_evaluator.h"
#include "backends/runtime/step_launcher.h"
#include "backends/runtime/step_observer.h"
#include "graph/tensor/tensor.h"

namespace weft {

class PlanRuntime {
 public:
  // All of them outlive this object. `evaluator` may be null: steps without code then fail.
  PlanRuntime(Device& on, StepLauncher& with, const StepEvaluator* host)
      : device(on),
        launcher(with),
        evaluator(host),
        scratch_(on),
        pool_([this](int64_t bytes, profiler::MemoryCategory category) {
          return device.AllocateHost(bytes, category);
        }) {}

  // Assignments of the sizes of a plan whose recordings are kept.
  static constexpr size_t kMaxRecorded = 8;

  Device& device;
  StepLauncher& launcher;
  const StepEvaluator* const evaluator;

  // Null: memory is not guarded. Requires host-visible memory.
  std::unique_ptr<MemoryGuard> guard;
  StepObserver* observer = nullptr;  // Null: no observer.
  RunStats stats;
  int64_t runs = 0;  // Of the outermost plan, begun so far.

  // Reserves scratch memory, and counts the allocation.
  absl::Status ReserveScratch(int64_t bytes);
  // Address of the reserved bytes.
  char* scratch() const;
  int64_t scratch_allocations() const { return scratch_.allocations(); }
  // Host memory for an output; null if there is not enough memory.
  std::shared_ptr<HostBuffer> NewBuffer(int64_t bytes);
  // The plan has so many outputs.
  void ExpectOutputs(size_t outputs) { pool_.Expect(outputs); }
  // True if one tensor alone uses the buffer.
  bool IsSole(const std::shared_ptr<HostBuffer>& buffer) const { return pool_.IsSole(buffer); }
  // Memory of the device for a tensor that may outlive this object; it keeps the owner of the
  // device alive.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> NewDeviceMemory(int64_t bytes);
  void set_owner(std::shared_ptr<Device> owner) { owner_ = std::move(owner); }
  // Copies between the host and the device, if it is not host-visible; they are done when the call
  // returns.
  absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor);
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor);
  // Records for the profiler that the program holds a constant in host memory.
  void Hold(const HostTensor& constant, profiler::MemoryCategory category);
  // A copy of the plan's constant `number` in memory of a device that is not host-visible; made
  // once.
  absl::StatusOr<char*> OnDevice(int number, const HostTensor& constant,
                                 profiler::MemoryCategory category);

 private:
  std::shared_ptr<Device> owner_;
  GrowingMemory scratch_;
  BufferPool pool_;
  HeldMemory held_;
  absl::flat_hash_map<int, std::unique_ptr<DeviceMemory>> constants_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_PLAN_RUNTIME_H_
