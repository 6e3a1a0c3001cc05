// Ops that a routine applies to its result before it stores it.
#ifndef WEFT_LOWERING_EPILOGUES_H_
#define WEFT_LOWERING_EPILOGUES_H_

#include "graph/target/target.h"
#include "lowering/plan.h"

namespace weft {

class AttrList;
class Node;

// The target's routine for `library` applies `op`, whose operand `operand` is the result so far.
// A clamp by two numbers counts as hardtanh. False where the target has no routine for `library`.
bool AppliesEpilogue(const Target& target, const Node& library, const Node& op, int operand);

// The attributes of hardtanh that compute the clamp `node`. Null for another node, for bounds that
// are not literals of one element, and for bounds that cross or are NaN. A bound that is left out
// is infinite.
const AttrList* HardtanhOfClamp(const Node& node);

// The argument that the routine of a library step may accumulate on (beta is 1, in the words of
// BLAS): it is added to the result of a matmul or a convolution, element by element, before
// anything else but a bias, and has the result's dims and strides. -1: none.
int AccumulatedArg(const Step& step);

}  // namespace weft

#endif  // WEFT_LOWERING_EPILOGUES_H_
