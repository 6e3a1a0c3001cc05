// Log topics of all passes.
#ifndef WEFT_PASSES_ENGINE_LOGS_H_
#define WEFT_PASSES_ENGINE_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent passes_log;
extern LogArtifact perf_hints_log;

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_LOGS_H_
