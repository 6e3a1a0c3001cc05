// Stores write-backs in the memory of the inputs that they replace.
//
// A write-back is the new value of an input (Graph::write_backs). The buffer of the input becomes
// the donor (plan.h) of the buffer of the write-back if both have the same dtype and size and:
//
//   reads      No step after the first step that writes the write-back reads the input. If that
//              step itself reads the input, it is a kernel that reads each element only at the
//              place where it stores, and before it stores, or a routine that updates the input
//              in place (Step::updates).
//   failures   Neither that step nor a later one can fail because of the values of data, so that
//              an error leaves the inputs unchanged. A routine in place may: it looks at its
//              indices before it writes. One after it with the same indices cannot.
//
// Each run decides whether it uses the donor, because only then the owner of the input's memory is
// known.
#ifndef WEFT_LOWERING_WRITE_BACKS_H_
#define WEFT_LOWERING_WRITE_BACKS_H_

#include "lowering/plan.h"
#include "lowering/write_backs_check.h"

namespace weft {

class Graph;

// Finds the donors in a plan that was made from `graph`. Steps that only compute write-backs move
// to the end if that makes them legal. A write-back without a donor has a remark with the reason.
void PlaceWriteBacks(const Graph& graph, Plan* plan);

}  // namespace weft

#endif  // WEFT_LOWERING_WRITE_BACKS_H_
