// Erases nodes whose results are unused.
#ifndef WEFT_PASSES_DCE_H_
#define WEFT_PASSES_DCE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// Nodes with effects stay, and so do nodes whose nested graphs have effects. Inputs and outputs of
// graphs are unchanged. Counter: erased.
std::unique_ptr<Pass> CreateDcePass();

}  // namespace weft

#endif  // WEFT_PASSES_DCE_H_
