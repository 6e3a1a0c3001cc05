// Merges nodes that compute the same value.
#ifndef WEFT_PASSES_CSE_H_
#define WEFT_PASSES_CSE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// Of several mergeable nodes with the same op, operands, attributes and result
// types, the first of its graph stays and takes over the others' provenance.
// Nested graphs are worked on one by one. Counter: merged.
std::unique_ptr<Pass> CreateCsePass();

}  // namespace weft

#endif  // WEFT_PASSES_CSE_H_
