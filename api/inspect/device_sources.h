// What devices recorded of their own work, for sessions of the profiler.
#ifndef WEFT_API_INSPECT_DEVICE_SOURCES_H_
#define WEFT_API_INSPECT_DEVICE_SOURCES_H_

#include <memory>
#include <vector>

#include "profiler/source.h"

namespace weft {

// The sources of all devices that programs can run on, for profiler::SessionOptions::sources.
std::vector<std::shared_ptr<profiler::EventSource>> DeviceSources();

}  // namespace weft

#endif  // WEFT_API_INSPECT_DEVICE_SOURCES_H_
