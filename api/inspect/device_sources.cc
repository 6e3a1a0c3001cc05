#include "api/inspect/device_sources.h"

#include "backends/cuda/trace/gpu_source.h"
#include "backends/plugin/device_events.h"

namespace weft {

std::vector<std::shared_ptr<profiler::EventSource>> DeviceSources() {
  return {plugin::DeviceEvents::Get(), cuda::GpuSource::Get()};
}

}  // namespace weft
