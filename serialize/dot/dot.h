// Graphviz DOT, and SVG through the `dot` program.
#ifndef WEFT_SERIALIZE_DOT_DOT_H_
#define WEFT_SERIALIZE_DOT_DOT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace weft {

class Module;

struct DotOptions {
  // Constants of more elements are drawn as their type alone.
  int64_t max_constant_elements = 4;
  // Clusters for the scopes of source names (serialize/html/scopes.h).
  bool scopes = true;
};

// One cluster a function, and in it one a scope and a nested graph, which stands where
// its node does; a dashed edge leads from what it returns to the node. Edges carry the
// values' types. Nodes and edges appear in the graph's order.
std::string ToDot(const Module& module, const DotOptions& options = {});

// Runs Graphviz's `dot -Tsvg`. FailedPrecondition, naming the package, when the
// program is not installed.
absl::StatusOr<std::string> DotToSvg(const std::string& dot);

}  // namespace weft

#endif  // WEFT_SERIALIZE_DOT_DOT_H_
