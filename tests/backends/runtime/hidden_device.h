// A device whose memory the host must not touch and whose work runs late, for tests: what an
// executor assumes of the host's own memory, or of calls that are done when they return, fails on
// it.
//
// Its addresses are not host addresses: dereferencing one is a fault. Copies in and launches wait
// in a queue until the host requests results. Memory is poisoned when it is allocated and freed.
#ifndef WEFT_TESTS_BACKENDS_RUNTIME_HIDDEN_DEVICE_H_
#define WEFT_TESTS_BACKENDS_RUNTIME_HIDDEN_DEVICE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/runtime/device.h"
#include "backends/runtime/step_launcher.h"

namespace weft {

class HiddenDevice : public Device {
 public:
  enum class Call { kAllocate, kCopyIn, kCopyOut, kLaunch, kWait };

  bool host_visible() const override { return false; }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      int64_t bytes, profiler::MemoryCategory category) override;
  absl::Status CopyIn(char* to, const void* from, int64_t bytes) override;
  absl::Status CopyOut(void* to, const char* from, int64_t bytes) override;
  absl::Status Wait() override;

  // For launchers: the memory behind an address of the device, and work for the queue. Null stays
  // null.
  static char* Reveal(const void* address);
  absl::Status Submit(std::function<absl::Status()> work);

  // The `count`-th call of that kind from now on fails with Unavailable; 0: none does.
  void FailAt(Call call, int64_t count);
  // Calls of that kind so far.
  int64_t calls(Call call) const { return calls_[static_cast<int>(call)]; }
  // Bytes that are allocated now.
  int64_t live_bytes() const { return live_bytes_; }

 private:
  class Piece;
  absl::Status Count(Call call);
  absl::Status Drain();

  std::deque<std::function<absl::Status()>> queue_;
  int64_t calls_[5] = {};
  Call failing_ = Call::kAllocate;
  int64_t failing_at_ = 0;
  int64_t live_bytes_ = 0;
};

// Runs the code that another launcher makes for the host, on a hidden device. Library steps of
// integers are left to the host: their routines refuse values when they run, which is too late
// here.
class HiddenLauncher : public StepLauncher {
 public:
  // Both outlive it.
  HiddenLauncher(HiddenDevice& device, StepLauncher& host) : device_(device), host_(host) {}

  absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) override;
  absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                        const RunView& to) override;

 private:
  HiddenDevice& device_;
  StepLauncher& host_;
};

}  // namespace weft

#endif  // WEFT_TESTS_BACKENDS_RUNTIME_HIDDEN_DEVICE_H_
