// A clamp by two numbers as hardtanh, which has them as attributes: what routines store
// through.
#ifndef WEFT_LOWERING_CLAMP_BOUNDS_H_
#define WEFT_LOWERING_CLAMP_BOUNDS_H_

#include "graph/ir/graph.h"

namespace weft {

// The attributes of that hardtanh; null for another node, for bounds that are no literals
// of one element, and for bounds that cross or are NaN. A bound that is not given is
// infinite.
const AttrList* HardtanhOfClamp(const Node& node);

}  // namespace weft

#endif  // WEFT_LOWERING_CLAMP_BOUNDS_H_
