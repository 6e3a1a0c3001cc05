// Ops whose results lie in the memory of their operand, by their element maps (graph/ir/op_map.h).
#ifndef WEFT_LOWERING_VIEWS_H_
#define WEFT_LOWERING_VIEWS_H_

#include <optional>

#include "lowering/index_map.h"
#include "lowering/plan.h"

namespace weft {

class Node;
class OpDef;

// The schema declares the results views of operand 0, of the same dtype, or the op is a clone.
bool IsView(const OpDef& op);
// The view counts elements of operand 0 in row-major order, which it must have in memory unless its
// strides allow otherwise.
bool CountsElements(const Sizes& sizes, const Node& node);
// The view has each element of operand 0 once, in other dims or another order: OperandOfView may
// have an answer.
bool IsRearranged(const Sizes& sizes, const Node& node);

// Result `result` of a node seen in the memory of operand 0; nothing when the
// op is not a view, or the strides of `self` do not allow it.
std::optional<View> ViewOfNode(const Sizes& sizes, const Node& node, int result, const View& self);

// The converse: where operand 0 has to lie so that the node's result lies at
// `view`; nothing when that is not possible, as for nodes that are not rearranged.
std::optional<View> OperandOfView(const Sizes& sizes, const Node& node, const View& view);

}  // namespace weft

#endif  // WEFT_LOWERING_VIEWS_H_
