// Equality of nested graphs.
#ifndef WEFT_API_CHECK_SAME_GRAPH_H_
#define WEFT_API_CHECK_SAME_GRAPH_H_

namespace weft {

class Graph;
class Node;

// True if the graphs have the same inputs, the same nodes in the same order with the same operands
// and attributes, and the same outputs, nested graphs included. Types are not compared.
bool SameGraph(const Graph& a, const Graph& b);
// True if the nested graphs of two nodes are pairwise equal.
bool SameRegions(const Node& a, const Node& b);

}  // namespace weft

#endif  // WEFT_API_CHECK_SAME_GRAPH_H_
