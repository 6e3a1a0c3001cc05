#include "backends/plugin/logs.h"

namespace weft {

LogArtifact device_hints_log("perf_hints", "optimisations that were missed, and why");

}  // namespace weft
