// Releases the memory of unused constants.
#ifndef WEFT_PASSES_DROP_CONSTANTS_H_
#define WEFT_PASSES_DROP_CONSTANTS_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// Constants that nodes and inputs use get new ids, dense and in the old order; others leave the
// module, such as weights that were folded. Nodes and values are unchanged. Counters: dropped,
// dropped_bytes.
std::unique_ptr<Pass> CreateDropConstantsPass();

}  // namespace weft

#endif  // WEFT_PASSES_DROP_CONSTANTS_H_
