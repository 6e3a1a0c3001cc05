// Gives up the memory of constants that nothing uses.
#ifndef WEFT_PASSES_DROP_CONSTANTS_H_
#define WEFT_PASSES_DROP_CONSTANTS_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// The constants that nodes and inputs mention get new ids, dense and in the old
// order; the others leave the module, as weights do once they are folded. Nodes
// and values are those that were. Counters: dropped, dropped_bytes.
std::unique_ptr<Pass> CreateDropConstantsPass();

}  // namespace weft

#endif  // WEFT_PASSES_DROP_CONSTANTS_H_
