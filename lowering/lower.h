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

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "lowering/plan.h"

namespace weft {

// What a backend says of itself, as a value.
struct LoweringTarget {
  // It has a routine for the node.
  std::function<bool(const Node&)> library;
  // The routine takes this operand (-1: writes its result) with any strides;
  // otherwise views handed to it are dense and row-major.
  std::function<bool(const Node&, int operand)> strided;
  // The routine is faster on activations whose channels (dim 1) lie innermost, in
  // memory of any strides; propagate_layout.h decides.
  std::function<bool(const Node&)> channels_last;
  // The routine stores through this op, whose operand `operand` is the result
  // so far and of which the other one broadcasts.
  std::function<bool(const Node& library, const Node& op, int operand)> epilogue;
  // Rows of kernels (kernel.h) that may pass this many elements are computed
  // again instead of kept.
  int64_t max_row_elements = int64_t{1} << 16;
  // Operands of a concatenation are computed in its result.
  bool place_concats = true;
  // Steps are put in an order that needs less memory (schedule.h).
  bool schedule = true;
  // The plan says where the values of the graph lie (Plan::values).
  bool record_values = false;
};

absl::StatusOr<Plan> Lower(const Graph& graph, const LoweringTarget& target);

}  // namespace weft

#endif  // WEFT_LOWERING_LOWER_H_
