// State that the runners of a plan and of the plans nested in it share.
#ifndef WEFT_BACKENDS_RUNTIME_PLAN_RUNTIME_H_
#define WEFT_BACKENDS_RUNTIME_PLAN_RUNTIME_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/runtime/device.h"
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
  // All of them outlive it. `evaluator` may be null: steps without code are then errors.
  PlanRuntime(Device& on, StepLauncher& with, const StepEvaluator* host)
      : device(on), launcher(with), evaluator(host), scratch_(on) {}

  Device& device;
  StepLauncher& launcher;
  const StepEvaluator* const evaluator;

  // Null: memory is not guarded. Only on a device whose memory the host sees.
  std::unique_ptr<MemoryGuard> guard;
  StepObserver* observer = nullptr;  // Null: nothing watches the steps.
  RunStats stats;

  // Counts what it allocates.
  absl::Status ReserveScratch(int64_t bytes);
  // Where the reserved bytes begin.
  char* scratch() const;
  // Memory of an output on the host; null without memory.
  std::shared_ptr<HostBuffer> NewBuffer(int64_t bytes);
  // A tensor on the buffer is the only one.
  bool IsSole(const std::shared_ptr<HostBuffer>& buffer) const { return pool_.IsSole(buffer); }
  // For the profiler: the program holds a constant of the host's memory.
  void Hold(const HostTensor& constant, profiler::MemoryCategory category);
  // A copy of the plan's constant `number` in the memory of a device that the host does not see,
  // made once.
  absl::StatusOr<char*> OnDevice(int number, const HostTensor& constant,
                                 profiler::MemoryCategory category);

 private:
  GrowingMemory scratch_;
  BufferPool pool_;
  HeldMemory held_;
  absl::flat_hash_map<int, std::unique_ptr<DeviceMemory>> constants_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_PLAN_RUNTIME_H_
