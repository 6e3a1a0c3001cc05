// The conditions under which a program holds, for people and for those who check
// them before a run: those that nodes take on trust, which are enough, and where
// their symbols come from (sym_sources.h has the messages about broken ones).
#ifndef WEFT_GRAPH_IR_GUARDS_H_
#define WEFT_GRAPH_IR_GUARDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_sources.h"

namespace weft {

class Graph;
class Node;
class SymbolTable;

// Where the symbols of a function get their values. Linear in its nodes.
SymbolSources SourcesOf(const Graph& graph);

// "reshape, from \"fc/reshape\"": a node, where facts say who assumed them.
std::string OriginOf(const Node& node);

// A condition on sizes that shape inference takes on trust: that two sizes are equal,
// that a window fits, that a result has its declared sizes.
struct SizeAssumption {
  SymInt condition;
  std::string origin;  // OriginOf the node.
};

// Adds what the facts of the module leave open about one node, operands and results
// as they are typed now: the assumptions of its op, and that its results have their
// declared sizes, none of them negative. When they hold, the node gives results of its
// types and touches no memory outside of its operands. The nested graph of an op that
// decomposes into it always runs, and its assumptions are the node's own; those of
// other nested graphs are left out, because which of them runs is not known. Operands
// that do not fit, and a condition too large to be expressed, are errors.
absl::Status AddSizeAssumptions(const Node& node, std::vector<SizeAssumption>* assumptions);
// The same for all nodes of the graph.
absl::Status AddSizeAssumptions(const Graph& graph, std::vector<SizeAssumption>* assumptions);

struct SizeGuard {
  SymInt condition;
  std::string origin;  // Who assumed it; "declared" for ranges of symbols.
  int cost = 0;        // Operations that it takes to check it.
  // Mentions a size that depends on data: a run-time assert.
  bool on_data = false;
  // Of an implied one: places in GuardSet::needed that imply it.
  std::vector<int> covered_by;
};

struct GuardSet {
  std::vector<SizeGuard> needed;  // Cheapest first.
  std::vector<SizeGuard> implied;
  // A line for each, with the inputs that it reads.
  std::string ToString(const SymbolSources& sources) const;
};

// What has to be checked of the facts, and what follows from that. Facts are
// compared with those about the same symbols, a bounded number of them, so the
// cost is near-linear and some implied ones may stay.
GuardSet MinimizeGuards(const SymbolTable& facts);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_GUARDS_H_
