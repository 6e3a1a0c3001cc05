// Structural verification of modules.
#ifndef WEFT_GRAPH_VERIFY_VERIFIER_H_
#define WEFT_GRAPH_VERIFY_VERIFIER_H_

#include "absl/status/status.h"
#include "graph/tensor/type.h"

namespace weft {

class Graph;
class Module;
class SymbolTable;

// OK, or an Internal error that names the broken invariant and the node, and shows the node with
// its neighbours. verifier.cc opens with the list of the invariants. Linear in the size of the
// module.
absl::Status Verify(const Module& module);
// Verifies the graph and its nested graphs.
absl::Status Verify(const Graph& graph);

// True if a value whose inferred type is `inferred` may have the type `type`: they are equal, or
// agree in kind, dtype and rank without two sizes that are provably different.
bool IsLegalRefinement(Type type, Type inferred, const SymbolTable& symbols);

}  // namespace weft

#endif  // WEFT_GRAPH_VERIFY_VERIFIER_H_
