// From a graph to a plan.
//
// On entry: a verified graph without nodes that write (functionalize). On exit:
// a plan whose steps, run in order, give the graph's outputs; every node is a
// step, part of one, or a view, and what it assumes about sizes is a fact of the module
// or a condition of the plan. What an op becomes, in this order of
// preference: a library step where the target has a routine; a view; a kernel;
// its decomposition; a reference step with a remark that says why. `fused`
// nodes become one kernel, or a library step with an epilogue, when their body
// fits, and are lowered node by node when it does not.
//
// Left alone: order of the nodes (schedule.h), places in memory
// (memory_plan.h).
#ifndef WEFT_LOWERING_LOWER_H_
#define WEFT_LOWERING_LOWER_H_

#include "absl/status/statusor.h"
#include "graph/target/target.h"
#include "lowering/plan.h"

namespace weft {

class Graph;

struct LoweringOptions {
  // Operands of a concatenation are computed in its result.
  bool place_concats = true;
  // Steps are put in an order that needs less memory (schedule.h).
  bool schedule = true;
  // The plan says where the values of the graph lie (Plan::values).
  bool record_values = false;
};

// For a target without routines every node becomes a kernel or a reference step.
absl::StatusOr<Plan> Lower(const Graph& graph, const Target& target,
                           const LoweringOptions& options = {});

}  // namespace weft

#endif  // WEFT_LOWERING_LOWER_H_
