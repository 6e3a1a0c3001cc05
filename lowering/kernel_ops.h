// Ops inside of kernels that are no function of single elements: which elements
// they read.
#ifndef WEFT_LOWERING_KERNEL_OPS_H_
#define WEFT_LOWERING_KERNEL_OPS_H_

#include "lowering/nest_builder.h"

namespace weft {

class Node;
class OpDef;

// Makes result `result` of the node at `at`; -1 as NestBuilder::Get, or after
// NestBuilder::Fail.
using MovementFn = int (*)(NestBuilder& e, const Node& node, int result, const Indices& at,
                           const Guards& guards);

// Null for ops that kernels do not have.
MovementFn FindMovementOp(const OpDef& op);

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_OPS_H_
