#include "passes/engine/logs.h"

namespace weft {

LogComponent passes_log("passes", "passes that ran, how long, what changed");
LogArtifact perf_hints_log("perf_hints", "optimisations that were missed, and why");

}  // namespace weft
