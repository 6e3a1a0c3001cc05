// Ops that a routine applies to its result before it stores it.
#ifndef WEFT_LOWERING_EPILOGUES_H_
#define WEFT_LOWERING_EPILOGUES_H_

#include "graph/target/target.h"
#include "lowering/plan.h"

namespace weft {

class AttrList;
class Node;

// True if the target's routine for `library` can apply `op`, whose operand `operand` is the result
// so far. A clamp by two numbers counts as hardtanh. False if the target has no routine for
// `library`.
bool AppliesEpilogue(const Target& target, const Node& library, const Node& op, int operand);

// The attributes of hardtanh that compute the clamp `node`; an absent bound is infinite. Null for
// another node, for bounds that are not literals of one element, and for bounds that cross or are
// NaN.
const AttrList* HardtanhOfClamp(const Node& node);

// The argument onto which the routine of a library step may accumulate (beta is 1, in BLAS terms):
// it is added to the result of a matmul or convolution, element by element, before anything except
// a bias, and has the result's dims and strides. -1: none.
int AccumulatedArg(const Step& step);

}  // namespace weft

#endif  // WEFT_LOWERING_EPILOGUES_H_
