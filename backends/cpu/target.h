// What the CPU backend tells the lowering of itself.
#ifndef WEFT_BACKENDS_CPU_TARGET_H_
#define WEFT_BACKENDS_CPU_TARGET_H_

#include "graph/ir/graph.h"
#include "lowering/lower.h"

namespace weft::cpu {

// Library steps: products, convolutions, attention and pooling of floats of 16 and 32
// bits.
bool HasRoutine(const Node& node);

// The routine of a node takes operand `operand` (-1: its result) with any strides.
bool TakesStrides(const Node& node, int operand);

// The routine of `library` stores through `op`, of which operand `operand` is the
// result so far.
bool TakesEpilogue(const Node& library, const Node& op, int operand);

// All of the above.
LoweringTarget CpuLoweringTarget();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_TARGET_H_
