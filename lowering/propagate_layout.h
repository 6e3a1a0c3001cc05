// Chooses which tensors of a convolution net have their channels innermost.
//
// Routines that prefer that order (Routine::prefers_channels_last) and the ops between
// them that do not mind (pointwise ones, groups of them, concatenations) form regions.
// A region lies channels-last when that moves fewer elements than row-major order
// does: without it each routine reorders what it reads and what it writes; with it
// what enters or leaves the region is reordered, once. Reductions and views read
// either order. Dims [n, c, spatial...] of one, two or three spatial dims; sizes may
// be symbols, which count as UsualSize says (graph/cost/cost.h).
#ifndef WEFT_LOWERING_PROPAGATE_LAYOUT_H_
#define WEFT_LOWERING_PROPAGATE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/target/target.h"

namespace weft {

class Graph;
class Node;

struct LayoutRegion {
  std::vector<const Node*> nodes;  // In order.
  int num_routines = 0;
  // Elements that are reordered per run.
  double row_major_cost = 0;
  double channels_last_cost = 0;
};

// Regions with at least one routine, in the order of their first nodes.
std::vector<LayoutRegion> CollectLayoutRegions(const Graph& graph, const Target& target);

// Nodes whose results become channels-last.
absl::flat_hash_set<const Node*> DecideLayouts(const std::vector<LayoutRegion>& regions);

// One line per region: "region of 53 routines and 16 other nodes from \"conv1\": channels-last
// (...)".
std::string ToString(const std::vector<LayoutRegion>& regions);

}  // namespace weft

#endif  // WEFT_LOWERING_PROPAGATE_LAYOUT_H_
