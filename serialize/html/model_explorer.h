// Model Explorer's JSON: a graph collection with one graph for each function and
// nested graph, {"label", "graphs": [{"id", "nodes": [{"id", "label", "namespace",
// "attrs", "incomingEdges", "outputsMetadata", "subgraphIds"}]}]}.
#ifndef WEFT_SERIALIZE_HTML_MODEL_EXPLORER_H_
#define WEFT_SERIALIZE_HTML_MODEL_EXPLORER_H_

#include <string>

#include "serialize/html/module_view.h"

namespace weft {

// The JSON of the last snapshot of `view`. Ids of nodes are unique in their graph; a node with
// nested graphs lists them as subgraphs. Namespaces are scopes.
std::string ToModelExplorer(const ModuleView& view);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_MODEL_EXPLORER_H_
