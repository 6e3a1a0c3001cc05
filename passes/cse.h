// Merges nodes that compute the same value.
#ifndef WEFT_PASSES_CSE_H_
#define WEFT_PASSES_CSE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// Merges nodes with the same op, operands, attributes and result types: the first one of a graph
// stays and gets the provenance of the others. Each nested graph is handled separately.
// Counter: merged.
std::unique_ptr<Pass> CreateCsePass();

}  // namespace weft

#endif  // WEFT_PASSES_CSE_H_
