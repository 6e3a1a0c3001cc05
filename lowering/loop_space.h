// How the values of a group of nodes lie on the loops of a nest.
//
// A group without reductions runs over the dims of an output. One with
// reductions runs over the dims of what its first reduction reads: the dims
// that stay are the outer loops, those that go are the inner ones. From there
// on, through ops whose results have the elements of their operands, it is
// known at which index of a value a point of the loops stands. Outputs for
// which that is found out, and that each point then has one element of, are
// computed by the nest; what is left takes further nests.
#ifndef WEFT_LOWERING_LOOP_SPACE_H_
#define WEFT_LOWERING_LOOP_SPACE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "lowering/index_map.h"

namespace weft {

class Node;
class OpDef;
class Value;

// Nodes that are to become one kernel.
struct KernelGroup {
  std::vector<const Node*> nodes;  // In order.
  std::vector<const Value*> outputs;
};

struct LoopSpace {
  std::vector<SymInt> extents;  // Outer loops, then inner ones.
  size_t num_outer = 0;
  absl::flat_hash_map<const Value*, Indices> at;
  std::vector<int> outputs;  // Of the group.

  // True when the index moves with an inner loop.
  bool UsesInner(const Indices& indices) const;
};

// Reductions that kernels have: sum, mean, prod, amax, amin, any, all, argmax,
// argmin.
bool IsKernelReduction(const OpDef& op);
// The dims that such a node reduces, ascending.
std::vector<int> AxesOf(const Node& node);

// An error says why the group is no kernel.
absl::StatusOr<std::vector<LoopSpace>> PlanLoops(const KernelGroup& group, const Sizes& sizes);

}  // namespace weft

#endif  // WEFT_LOWERING_LOOP_SPACE_H_
