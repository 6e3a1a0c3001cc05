// Ops that a routine applies to its result before it stores it.
#ifndef WEFT_LOWERING_EPILOGUES_H_
#define WEFT_LOWERING_EPILOGUES_H_

#include "graph/target/target.h"

namespace weft {

class AttrList;
class Node;

// True if the target's routine for `library` can apply `op`, whose operand `operand` is the result
// so far. A clamp by two numbers counts as hardtanh. False if the target has no routine for
// `library`.
bool AppliesEpilogue(const Target& target, const Node& library, const Node& op, int operand);

// True if the target's routine for `library` can run a kernel on its result before it stores what
// the kernel gives, which may have another dtype: the target says so by claiming `convert` as an
// epilogue of the routine.
bool RunsKernels(const Target& target, const Node& library);

// The attributes of hardtanh that compute the clamp `node`; an absent bound is infinite. Null for
// another node, for bounds that are not literals of one element, and for bounds that cross or are
// NaN.
const AttrList* HardtanhOfClamp(const Node& node);

}  // namespace weft

#endif  // WEFT_LOWERING_EPILOGUES_H_
