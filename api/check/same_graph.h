// Are two nested graphs equal?
#ifndef WEFT_API_CHECK_SAME_GRAPH_H_
#define WEFT_API_CHECK_SAME_GRAPH_H_

namespace weft {

class Graph;
class Node;

// The same inputs, nodes in the same order with the same operands and attributes,
// and outputs, nested graphs included; types are not looked at.
bool SameGraph(const Graph& a, const Graph& b);
// True when the nested graphs of two nodes are equal, one by one.
bool SameRegions(const Node& a, const Node& b);

}  // namespace weft

#endif  // WEFT_API_CHECK_SAME_GRAPH_H_
