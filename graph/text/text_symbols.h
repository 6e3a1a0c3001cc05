// Symbols of graphs. Their facts are text of the `where` clause (parts/text_facts.h).
#ifndef WEFT_GRAPH_TEXT_TEXT_SYMBOLS_H_
#define WEFT_GRAPH_TEXT_TEXT_SYMBOLS_H_

#include <vector>

#include "graph/sym/sym_int.h"

namespace weft {
class Graph;
}  // namespace weft

namespace weft::text {

// The symbols in the types and attributes of the graph and its nested graphs, in structural order.
std::vector<SymInt> SymbolsOf(const Graph& graph);

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_TEXT_SYMBOLS_H_
