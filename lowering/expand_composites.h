// Replaces ops that neither a kernel nor a routine supports by their decompositions.
#ifndef WEFT_LOWERING_EXPAND_COMPOSITES_H_
#define WEFT_LOWERING_EXPAND_COMPOSITES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace weft {

class Graph;
class Node;

// Replaces each composite op of the graph by its decomposition, recursively, until `stays` is true
// for every remaining composite. Nested graphs are unchanged. Unimplemented if a decomposition
// fails or does not end; the graph is then valid but only partly expanded.
absl::Status ExpandComposites(Graph* graph, absl::FunctionRef<bool(const Node&)> stays);

}  // namespace weft

#endif  // WEFT_LOWERING_EXPAND_COMPOSITES_H_
