// Decompositions in the place of ops that no kernel and no routine takes as they are.
#ifndef WEFT_LOWERING_EXPAND_COMPOSITES_H_
#define WEFT_LOWERING_EXPAND_COMPOSITES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace weft {

class Graph;
class Node;

// Replaces each composite op of the graph by its decomposition, and those within it, until
// `stays` is true for every composite that is left. Nested graphs are left alone. An Unimplemented
// error when a decomposition fails or does not end; the graph is then valid, and partly expanded.
absl::Status ExpandComposites(Graph* graph, absl::FunctionRef<bool(const Node&)> stays);

}  // namespace weft

#endif  // WEFT_LOWERING_EXPAND_COMPOSITES_H_
