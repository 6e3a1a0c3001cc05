#include "lowering/expand_composites.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"

namespace weft {
namespace {

// Limit of expansions; a decomposition that exceeds it is assumed not to end.
constexpr int kMaxExpansions = 10000;

}  // namespace

absl::Status ExpandComposites(Graph* graph, absl::FunctionRef<bool(const Node&)> stays) {
  int expansions = 0;
  for (Node* node = graph->first_node(); node != graph->return_node();) {
    Node* next = node->next();
    if (!node->op().is_composite() || stays(*node)) {
      node = next;
      continue;
    }
    if (++expansions > kMaxExpansions) {
      return absl::UnimplementedError("its decomposition does not end");
    }
    Node* before = node->prev();
    Builder b(graph, node);
    Node::ArgStorage storage;
    const std::vector<Value*> results = node->op().decompose()(b, node->Args(&storage));
    if (!b.status().ok()) {
      return absl::UnimplementedError(
          absl::StrCat("its decomposition fails: ", b.status().message()));
    }
    for (int r = 0; r < node->num_results(); ++r) {
      node->result(r)->ReplaceAllUsesWith(results[r]);
    }
    // The decomposition was inserted before the node, and is visited next.
    Node* first = before == nullptr ? graph->first_node() : before->next();
    next = first == node ? next : first;
    graph->EraseNode(node);
    node = next;
  }
  return absl::OkStatus();
}

}  // namespace weft
