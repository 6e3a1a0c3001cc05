// The built-in passes and pipelines.
#ifndef WEFT_PASSES_PIPELINES_H_
#define WEFT_PASSES_PIPELINES_H_

#include "passes/engine/registry.h"

namespace weft {

const PassRegistry& BuiltinPasses();

}  // namespace weft

#endif  // WEFT_PASSES_PIPELINES_H_
