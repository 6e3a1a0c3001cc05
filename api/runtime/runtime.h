// All headers for opening and running compiled models with the runtime alone (docs/running.md).
#ifndef WEFT_API_RUNTIME_RUNTIME_H_
#define WEFT_API_RUNTIME_RUNTIME_H_

#include "api/runtime/runtime_program.h"
#include "backends/cpu/threads/host_loop.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

#endif  // WEFT_API_RUNTIME_RUNTIME_H_
