// The registry of built-in backends: "reference", "cpu" and "cuda".
#ifndef WEFT_API_BACKENDS_H_
#define WEFT_API_BACKENDS_H_

#include "backends/backend.h"

namespace weft {

const BackendRegistry& BuiltinBackends();

}  // namespace weft

#endif  // WEFT_API_BACKENDS_H_
