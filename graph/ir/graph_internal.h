// What the files of graph.h share.
#ifndef WEFT_GRAPH_IR_GRAPH_INTERNAL_H_
#define WEFT_GRAPH_IR_GRAPH_INTERNAL_H_

#include <vector>

#include "graph/ir/graph.h"

namespace weft::internal {

// The symbols in a type's sizes, appended, as often as they occur.
void CollectSymbols(Type type, std::vector<SymInt>* out);

// `root` and the graphs nested in it, outer before inner.
std::vector<Graph*> NestedGraphs(Graph* root);

}  // namespace weft::internal

#endif  // WEFT_GRAPH_IR_GRAPH_INTERNAL_H_
