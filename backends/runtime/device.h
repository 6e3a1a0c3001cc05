// A device, as the executor of plans sees it: memory, and an order of work.
//
// Work on a device is one sequence: copies, and launches of step code (step_launcher.h), take
// effect in the order in which they were submitted, and may do so after the call has returned. The
// host meets them in CopyOut() and Wait().
//
// Addresses of a device's memory are `char*` so that offsets can be added to them. The host may
// follow one only where host_visible() is true.
#ifndef WEFT_BACKENDS_RUNTIME_DEVICE_H_
#define WEFT_BACKENDS_RUNTIME_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/activity.h"

namespace weft {

// A piece of a device's memory, which is free again when this goes.
class DeviceMemory {
 public:
  DeviceMemory(char* data, int64_t size) : data_(data), size_(size) {}
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* data() const { return data_; }
  int64_t size() const { return size_; }  // In bytes.

 private:
  char* const data_;
  const int64_t size_;
};

// Calls of one run come from one thread at a time.
class Device {
 public:
  virtual ~Device() = default;

  // The device works in the host's own memory: tensors of the host are operands and results as
  // they are, and CopyIn and CopyOut are never called.
  virtual bool host_visible() const = 0;
  // At least `bytes` bytes, aligned to 64 bytes, with any content. ResourceExhausted without so
  // much memory. `category` is for the profiler.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      int64_t bytes, profiler::MemoryCategory category) = 0;
  // From the host to the device. The host's memory may change once the call has returned.
  virtual absl::Status CopyIn(char* to, const void* from, int64_t bytes) = 0;
  // From the device to the host, done when the call returns. Errors of work that was submitted
  // before may show here.
  virtual absl::Status CopyOut(void* to, const char* from, int64_t bytes) = 0;
  // Returns once all work is done, with the first error of what was submitted since the last call.
  virtual absl::Status Wait() = 0;
};

// Device memory that grows and never shrinks.
class GrowingMemory {
 public:
  // `device` outlives it.
  explicit GrowingMemory(Device& device) : device_(device) {}

  // Holds at least `bytes` bytes afterwards; its content may be lost. ResourceExhausted without
  // memory; it is then empty. It waits for work that uses the memory.
  absl::Status Reserve(int64_t bytes, profiler::MemoryCategory category);
  char* data() const { return memory_ == nullptr ? nullptr : memory_->data(); }
  int64_t size() const { return memory_ == nullptr ? 0 : memory_->size(); }

 private:
  Device& device_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_DEVICE_H_
