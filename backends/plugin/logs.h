// The log artifact about missing features of devices.
#ifndef WEFT_BACKENDS_PLUGIN_LOGS_H_
#define WEFT_BACKENDS_PLUGIN_LOGS_H_

#include "base/log.h"

namespace weft {

// "perf_hints", the same name as that of passes: a setting turns on both.
extern LogArtifact device_hints_log;

}  // namespace weft

#endif  // WEFT_BACKENDS_PLUGIN_LOGS_H_
