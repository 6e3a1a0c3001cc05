// The log artifact of what a device lacks.
#ifndef WEFT_BACKENDS_PLUGIN_LOGS_H_
#define WEFT_BACKENDS_PLUGIN_LOGS_H_

#include "base/log.h"

namespace weft {

// "perf_hints", as that of passes: the two are turned on together.
extern LogArtifact device_hints_log;

}  // namespace weft

#endif  // WEFT_BACKENDS_PLUGIN_LOGS_H_
