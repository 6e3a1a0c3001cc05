// Lowers a graph to a plan.
//
// On entry: a verified graph without nodes that write (functionalize). On exit: a plan whose steps,
// run in order, compute the graph's outputs; every node is a step, a part of one, or a view, and
// its assumptions on sizes are facts of the module or conditions of the plan. An op becomes, in
// this order of preference: a library step if the target has a routine; a view; a kernel; its
// decomposition; a reference step with a remark that gives the reason. A `fused` node becomes one
// kernel, or a library step with an epilogue, if its body allows it, and is lowered node by node
// otherwise.
//
// Not decided here: order of the nodes (schedule.h), offsets in memory (memory_plan.h).
#ifndef WEFT_LOWERING_LOWER_H_
#define WEFT_LOWERING_LOWER_H_

#include "absl/status/statusor.h"
#include "graph/target/target.h"
#include "lowering/plan.h"

namespace weft {

class Graph;

struct LoweringOptions {
  // Compute operands of a concatenation in its result.
  bool place_concats = true;
  // Order the steps so that they need less memory (schedule.h).
  bool schedule = true;
  // Record the views of the graph's values in the plan (Plan::values).
  bool record_values = false;
};

// If the target has no routines, every node becomes a kernel or a reference step.
absl::StatusOr<Plan> Lower(const Graph& graph, const Target& target,
                           const LoweringOptions& options = {});

}  // namespace weft

#endif  // WEFT_LOWERING_LOWER_H_
