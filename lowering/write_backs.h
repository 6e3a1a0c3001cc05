// Write-backs in the memory of the inputs that they replace.
//
// A write-back is the new value of an input (Graph::write_backs). Its buffer has
// that input's as its donor (plan.h) where it may lie in the same memory:
//
//   reads      no step behind the first one that writes it reads the input, and
//              that one, a kernel, reads it only where it stores and not after
//              it has stored;
//   failures   from that step on nothing fails for what the data are: an error
//              leaves the inputs as they were.
//
// Whether it does lie there is up to each run, which knows whose memory the
// input is.
#ifndef WEFT_LOWERING_WRITE_BACKS_H_
#define WEFT_LOWERING_WRITE_BACKS_H_

#include "absl/status/status.h"
#include "lowering/plan.h"

namespace weft {

class Graph;

// Finds the donors in a plan that was made from `graph`. Steps that make nothing
// but write-backs go to the end where that makes them legal. A write-back without
// a donor has a remark that says why.
void PlaceWriteBacks(const Graph& graph, Plan* plan);

// An error when a donor breaks one of the rules above. Knows nothing of how donors
// are found.
absl::Status CheckWriteBacks(const Plan& plan);

// The step may fail for what its operands are: assertions, indices, what goes
// through an op's own evaluation.
bool MayFail(const Plan& plan, const Step& step);

}  // namespace weft

#endif  // WEFT_LOWERING_WRITE_BACKS_H_
