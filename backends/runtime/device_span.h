// Spans of a trace that cause work of a device.
#ifndef WEFT_BACKENDS_RUNTIME_DEVICE_SPAN_H_
#define WEFT_BACKENDS_RUNTIME_DEVICE_SPAN_H_

#include <cstdint>

#include "backends/runtime/device.h"
#include "profiler/record.h"

namespace weft {

// A span of an op from here to the end of the block, which causes the work that is submitted within
// it.
class DeviceSpan {
 public:
  // `device` outlives it.
  DeviceSpan(Device& device, profiler::NameId name, profiler::DescriptionId description)
      : device_(device),
        id_(profiler::IsRecording(profiler::Activity::kCpuOp) && device.is_traced()
                ? profiler::NewFlowId()
                : 0),
        before_(id_ == 0 ? 0 : device.SetCause(id_)),
        scope_(profiler::Activity::kCpuOp, name, description, id_) {}
  ~DeviceSpan() {
    if (id_ != 0) device_.SetCause(before_);
  }
  DeviceSpan(const DeviceSpan&) = delete;
  DeviceSpan& operator=(const DeviceSpan&) = delete;

 private:
  Device& device_;
  const uint64_t id_;
  const uint64_t before_;
  const profiler::Scope scope_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_DEVICE_SPAN_H_
