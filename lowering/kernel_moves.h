// Ops inside of kernels that move elements, by their element maps (graph/ir/op_map.h).
#ifndef WEFT_LOWERING_KERNEL_MOVES_H_
#define WEFT_LOWERING_KERNEL_MOVES_H_

#include "lowering/nest_builder.h"

namespace weft {

class Node;
class OpDef;

// The op may have such a map, one that does not count elements in row-major order.
bool IsMove(const OpDef& op);

// Makes result `result` of the node at `at`; -1 as NestBuilder::Get, or after NestBuilder::Fail.
int MoveByMap(NestBuilder& e, const Node& node, int result, const Indices& at,
              const Guards& guards);

// `guards` and one that keeps `index` in [0, bound); false when the index is not a function of the
// loops alone.
bool AddGuard(const Index& index, SymInt bound, Guards* guards);

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_MOVES_H_
