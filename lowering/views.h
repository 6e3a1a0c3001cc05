// Ops whose results lie in the memory of their operand.
#ifndef WEFT_LOWERING_VIEWS_H_
#define WEFT_LOWERING_VIEWS_H_

#include <optional>

#include "lowering/index_map.h"
#include "lowering/plan.h"

namespace weft {

class Node;

// Result `result` of a node seen in the memory of operand 0; nothing when the
// op is no view, or the strides of `self` do not allow it.
std::optional<View> ViewOfNode(const Sizes& sizes, const Node& node, int result, const View& self);

// The converse: where operand 0 has to lie so that the node's result lies at
// `view`; nothing when that is not possible. Of reshape and permute.
std::optional<View> OperandOfView(const Sizes& sizes, const Node& node, const View& view);

// The first position that a slice from `start` of a dim of size `n` takes, in [0, n].
SymInt SliceStart(const Sizes& sizes, SymInt start, SymInt n);
// A position that counts from the end when negative.
SymInt FromEnd(const Sizes& sizes, SymInt position, SymInt n);

}  // namespace weft

#endif  // WEFT_LOWERING_VIEWS_H_
