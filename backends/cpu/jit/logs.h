// The log component of generated kernels.
#ifndef WEFT_BACKENDS_CPU_JIT_LOGS_H_
#define WEFT_BACKENDS_CPU_JIT_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent codegen_log;

}  // namespace weft

#endif  // WEFT_BACKENDS_CPU_JIT_LOGS_H_
