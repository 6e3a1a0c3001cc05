// The device interface of the executor of plans: memory, and an ordered queue of work.
//
// Work on a device is one sequence: copies and launches of step code (step_launcher.h) take effect
// in the order in which they were submitted, possibly after the call has returned. CopyOut() and
// Wait() synchronize with the host.
//
// Device addresses are `char*`, so that offsets can be added to them. The host may dereference one
// only if host_visible() is true.
#ifndef WEFT_BACKENDS_RUNTIME_DEVICE_H_
#define WEFT_BACKENDS_RUNTIME_DEVICE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/activity.h"

namespace weft {

class HostBuffer;

// A piece of device memory; the destructor frees it.
class DeviceMemory {
 public:
  DeviceMemory(char* data, int64_t size) : data_(data), size_(size) {}
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* data() const { return data_; }
  int64_t size() const { return size_; }  // Size in bytes.
  // The memory is freed in the order of that stream of the caller (device_run.h); nullopt: in the
  // device's own order, because the work of the caller's streams is done. Thread-safe.
  virtual void SetStream(std::optional<void*> stream) { static_cast<void>(stream); }

 private:
  char* const data_;
  const int64_t size_;
};

// Work that a device keeps, to submit it again at once (Device::BeginRecording).
class Recording {
 public:
  virtual ~Recording() = default;
};

// During one run, calls are made from one thread at a time.
class Device {
 public:
  virtual ~Device() = default;

  // True if the device works in the host's memory: host tensors are operands and results directly,
  // and CopyIn and CopyOut are never called.
  virtual bool host_visible() const = 0;
  // Identifies the memory: devices of equal spaces can use each other's addresses.
  virtual const void* memory_space() const { return this; }
  // Allocates at least `bytes` bytes, aligned to 64 bytes, with arbitrary content.
  // ResourceExhausted if there is not enough memory. `category` is for the profiler.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      int64_t bytes, profiler::MemoryCategory category) = 0;
  // Copies from the host to the device. The host's memory may change once the call has returned.
  virtual absl::Status CopyIn(char* to, const void* from, int64_t bytes) = 0;
  // The same, but the host's memory must not change before the next Wait().
  virtual absl::Status CopyInLater(char* to, const void* from, int64_t bytes) {
    return CopyIn(to, from, bytes);
  }
  // Copies from the device to the host before it returns. May report errors of work submitted
  // before.
  virtual absl::Status CopyOut(void* to, const char* from, int64_t bytes) = 0;
  // The same, but the bytes may come as late as with the next Wait().
  virtual absl::Status CopyOutLater(void* to, const char* from, int64_t bytes) {
    return CopyOut(to, from, bytes);
  }
  // True if memory may be freed while work that was submitted before uses it.
  virtual bool frees_in_order() const { return false; }
  // Copies within the device.
  virtual absl::Status Copy(char* to, const char* from, int64_t bytes);
  // Host memory for copies from the device; as AllocateAligned (host_memory.h), unless the device
  // copies faster to other memory. It may outlive the device.
  virtual std::shared_ptr<HostBuffer> AllocateHost(int64_t bytes,
                                                   profiler::MemoryCategory category);
  // Waits for all work; returns the first error of the work submitted since the last call.
  virtual absl::Status Wait() = 0;

  // True if the device can record work. Only then the calls below are made.
  virtual bool records() const { return false; }
  // Until EndRecording, launches of step code are kept and not run; there are no other calls.
  virtual absl::Status BeginRecording();
  // `reuse`, which may be null, is an older recording that is no longer needed and may become the
  // new one. Addresses, sizes and scratch memory of the launches are part of a recording.
  virtual absl::StatusOr<std::unique_ptr<Recording>> EndRecording(std::unique_ptr<Recording> reuse);
  // Ends the recording without a result.
  virtual void DropRecording() {}
  // Submits the recorded work. The recording lives until the next Wait().
  virtual absl::Status Replay(Recording& recording);

  // True while a recording for a trace asks for the device's own times.
  virtual bool is_traced() const { return false; }
  // Work that is submitted from now on is caused by the span with this correlation id; 0: by none.
  // Returns the cause before.
  virtual uint64_t SetCause(uint64_t correlation) {
    static_cast<void>(correlation);
    return 0;
  }
};

// Device memory that grows and never shrinks.
class GrowingMemory {
 public:
  // `device` outlives it.
  explicit GrowingMemory(Device& device) : device_(device) {}

  // Makes the memory at least `bytes` bytes large; its content may be lost. Waits for work that
  // uses the memory. ResourceExhausted if there is not enough memory; it is then empty.
  absl::Status Reserve(int64_t bytes, profiler::MemoryCategory category);
  char* data() const { return memory_ == nullptr ? nullptr : memory_->data(); }
  int64_t size() const { return memory_ == nullptr ? 0 : memory_->size(); }
  // How often there was new memory, which may have the address of the old one.
  int64_t allocations() const { return allocations_; }

 private:
  Device& device_;
  std::unique_ptr<DeviceMemory> memory_;
  int64_t allocations_ = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_DEVICE_H_
