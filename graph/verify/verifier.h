// Structural verification of modules.
#ifndef WEFT_GRAPH_VERIFY_VERIFIER_H_
#define WEFT_GRAPH_VERIFY_VERIFIER_H_

#include "absl/status/status.h"
#include "graph/tensor/type.h"

namespace weft {

class Graph;
class Module;
class SymbolTable;

// OK, or an Internal error that names the broken invariant and the node, and
// shows the node with its neighbours. verifier.cc opens with the list of the
// invariants. Linear in the module.
absl::Status Verify(const Module& module);
// The graph and the graphs nested in it.
absl::Status Verify(const Graph& graph);

// True when a value whose inferred type is `inferred` may carry `type`: they
// are equal, or agree in kind, dtype and rank, and no pair of sizes is provably
// different.
bool IsLegalRefinement(Type type, Type inferred, const SymbolTable& symbols);

}  // namespace weft

#endif  // WEFT_GRAPH_VERIFY_VERIFIER_H_
