// Stores write-backs in the memory of the inputs that they replace.
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
// Each run decides whether it does, because the owner of the input's memory is known only then.
#ifndef WEFT_LOWERING_WRITE_BACKS_H_
#define WEFT_LOWERING_WRITE_BACKS_H_

#include "absl/status/status.h"
#include "lowering/plan.h"

namespace weft {

class Graph;

// Finds the donors in a plan that was made from `graph`. Steps that only compute write-backs move
// to the end if that makes them legal. A write-back without a donor has a remark with the reason.
void PlaceWriteBacks(const Graph& graph, Plan* plan);

// An error if a donor breaks one of the rules above. Independent of the code that finds donors.
absl::Status CheckWriteBacks(const Plan& plan);

// True if the step may fail because of its operands' values: assertions, indices, ops that run by
// their own evaluation.
bool MayFail(const Plan& plan, const Step& step);

}  // namespace weft

#endif  // WEFT_LOWERING_WRITE_BACKS_H_
