#include "backends/runtime/logs.h"

namespace weft {

LogComponent executor_log("executor", "sizes that are met for the first time, memory");

}  // namespace weft
