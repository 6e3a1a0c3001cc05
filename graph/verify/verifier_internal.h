// Declarations shared by the files of the verifier; verifier.cc has the invariants.
#ifndef WEFT_GRAPH_VERIFY_VERIFIER_INTERNAL_H_
#define WEFT_GRAPH_VERIFY_VERIFIER_INTERNAL_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/infer_cache.h"
#include "graph/ir/node.h"

namespace weft {
class Graph;
}  // namespace weft

namespace weft::internal {

enum class Invariant {
  kList = 1,
  kIds,
  kOrder,
  kUses,
  kOperands,
  kAttributes,
  kRegions,
  kResults,
  kSizes,
  kTypes,
  kConstants,
  kSymbols,
  kSignature,
  kWrites,
};

// The error text. `node`, if not null, is shown with the definitions of its operands.
absl::Status BrokenInvariant(Invariant invariant, const Graph& graph, const Node* node,
                             absl::string_view message);

// State shared by the checks of a module's nodes.
struct NodeScratch {
  Node::ArgStorage storage;
  // Signatures with the result types of a node that was found valid. A node with the same signature
  // and types is valid too.
  InferCache sound;
};

// Checks invariants 5 to 11.
absl::Status VerifyNode(const Node& node, NodeScratch* scratch);

// Checks invariant 13.
absl::Status VerifySignature(const Graph& graph);

// False for a type with an invalid or negative size.
bool IsSizeType(Type type);

// Checks invariant 14, for a graph that is valid otherwise.
absl::Status VerifyWrites(const Graph& graph, bool is_root);

// Checks invariant 12 for graphs of one module, outer before inner, that are valid otherwise;
// `roots` are the graphs that are not nested.
absl::Status VerifySymbols(absl::Span<const Graph* const> graphs,
                           const absl::flat_hash_set<const Graph*>& roots);

}  // namespace weft::internal

#endif  // WEFT_GRAPH_VERIFY_VERIFIER_INTERNAL_H_
