// The log component of runs.
#ifndef WEFT_BACKENDS_RUNTIME_LOGS_H_
#define WEFT_BACKENDS_RUNTIME_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent executor_log;

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_LOGS_H_
