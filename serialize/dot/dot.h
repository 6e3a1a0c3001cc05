// Graphviz DOT, and SVG through the `dot` program.
#ifndef WEFT_SERIALIZE_DOT_DOT_H_
#define WEFT_SERIALIZE_DOT_DOT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace weft {

class Module;

struct DotOptions {
  // Constants with more elements are drawn as their type alone.
  int64_t max_constant_elements = 4;
  // Clusters for the scopes of source names (serialize/html/scopes.h).
  bool scopes = true;
};

// One cluster per function, with clusters for scopes and nested graphs, which are drawn where their
// nodes are; a dashed edge leads from the outputs of a nested graph to its node. Edges have the
// values' types as labels. Nodes and edges are in the graph's order.
std::string ToDot(const Module& module, const DotOptions& options = {});

// Runs Graphviz's `dot -Tsvg`. FailedPrecondition, with the name of the package, if the program is
// not installed.
absl::StatusOr<std::string> DotToSvg(const std::string& dot);

}  // namespace weft

#endif  // WEFT_SERIALIZE_DOT_DOT_H_
