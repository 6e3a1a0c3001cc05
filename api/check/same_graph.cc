#include "api/check/same_graph.h"

#include "absl/container/flat_hash_map.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"

namespace weft {
namespace {

using ValueMap = absl::flat_hash_map<const Value*, const Value*>;

// True if the nodes are equal, with operands related by `map`.
bool SameNode(const Node& a, const Node& b, const ValueMap& map) {
  if (&a.op() != &b.op() || a.attr_list() != b.attr_list() ||
      a.num_operands() != b.num_operands() || a.num_results() != b.num_results()) {
    return false;
  }
  for (int i = 0; i < a.num_operands(); ++i) {
    if ((a.operand(i) == nullptr) != (b.operand(i) == nullptr)) return false;
    if (a.operand(i) != nullptr && map.at(a.operand(i)) != b.operand(i)) {
      return false;
    }
  }
  return SameRegions(a, b);
}

}  // namespace

bool SameRegions(const Node& a, const Node& b) {
  if (a.num_regions() != b.num_regions()) return false;
  for (int i = 0; i < a.num_regions(); ++i) {
    if (!SameGraph(*a.region(i), *b.region(i))) return false;
  }
  return true;
}

// Recursion depth is the nesting depth of graphs.
bool SameGraph(const Graph& a, const Graph& b) {
  if (a.num_inputs() != b.num_inputs() || a.num_nodes() != b.num_nodes() ||
      a.num_outputs() != b.num_outputs()) {
    return false;
  }
  ValueMap map;
  for (int i = 0; i < a.num_inputs(); ++i) map[a.input(i)] = b.input(i);
  const Node* other = b.first_node();
  for (const Node* node : a.nodes()) {
    if (!SameNode(*node, *other, map)) return false;
    for (int i = 0; i < node->num_results(); ++i) {
      map[node->result(i)] = other->result(i);
    }
    other = other->next();
  }
  for (int i = 0; i < a.num_outputs(); ++i) {
    if (map.at(a.output(i)) != b.output(i)) return false;
  }
  return true;
}

}  // namespace weft
