// The conditions under which a program is valid, for display and for the checks before a run: the
// assumptions of its nodes, a minimal set of guards that implies them, and the sources of their
// symbols (sym_sources.h has the messages about broken ones).
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

// The inputs and nodes that define the symbols of a function. Linear in its nodes.
SymbolSources SourcesOf(const Graph& graph);

// The text by which facts name the node as their origin: "reshape, from \"fc/reshape\"".
std::string OriginOf(const Node& node);

// A condition on sizes that shape inference assumes: that two sizes are equal, that a window fits,
// that a result has its declared sizes.
struct SizeAssumption {
  SymInt condition;
  std::string origin;  // OriginOf the node.
};

// Appends the assumptions of one node that the facts of the module do not prove, for the present
// types of its operands and results: those of its op, and that its results have their declared
// sizes, none of them negative. If they hold, the node gives results of its types and touches no
// memory outside of its operands. A composite op's nested graph always runs, so its assumptions are
// added too; other nested graphs are left out, because it is not known which of them runs. Operands
// that do not fit, and a condition too large to be expressed, are errors.
absl::Status AddSizeAssumptions(const Node& node, std::vector<SizeAssumption>* assumptions);
// The same for all nodes of the graph.
absl::Status AddSizeAssumptions(const Graph& graph, std::vector<SizeAssumption>* assumptions);

struct SizeGuard {
  SymInt condition;
  std::string origin;  // The op, input or file that assumed it; "declared" for ranges.
  int cost = 0;        // Operations that checking it takes.
  // The condition mentions a data-dependent size: it is a runtime assert.
  bool on_data = false;
  // For an implied guard: indices in GuardSet::needed of those that imply it.
  std::vector<int> covered_by;
};

struct GuardSet {
  std::vector<SizeGuard> needed;  // Cheapest first.
  std::vector<SizeGuard> implied;
  // One line per guard, with the inputs that it reads.
  std::string ToString(const SymbolSources& sources) const;
};

// Splits the facts into guards that must be checked and guards that follow from these. Each fact is
// compared with a bounded number of facts about the same symbols, so the cost is near-linear and
// some implied guards may stay.
GuardSet MinimizeGuards(const SymbolTable& facts);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_GUARDS_H_
