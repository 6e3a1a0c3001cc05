// One sweep per graph in reverse order, inner graphs before outer ones: an erased node releases its
// operands before they are visited. Symbol operands count as uses, so a node that defines a used
// size stays. An assert of a constant true is dead.
#include "passes/dce.h"

#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/control.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Graphs that hold a node with effects, directly or nested.
using EffectfulGraphs = absl::flat_hash_set<const Graph*>;

// An assert that cannot fail.
bool IsHeld(const Node& node) {
  if (!node.Is(ops::runtime_assert)) return false;
  const HostTensor* condition = LiteralOf(ops::RuntimeAssertView(node).condition());
  return condition != nullptr && condition->IntAt(0) != 0;
}

bool HasEffects(const Node& node, const EffectfulGraphs& effectful) {
  if (!node.op().is_pure()) return !IsHeld(node);
  for (int i = 0; i < node.num_regions(); ++i) {
    if (effectful.contains(node.region(i))) return true;
  }
  return false;
}

// Returns how many nodes were erased.
int64_t EraseDeadNodes(Graph& graph, EffectfulGraphs* effectful) {
  int64_t erased = 0;
  Node* prev = nullptr;
  for (Node* node = graph.return_node()->prev(); node != nullptr; node = prev) {
    prev = node->prev();
    if (HasEffects(*node, *effectful)) {
      effectful->insert(&graph);
      continue;
    }
    if (node->has_uses()) continue;
    graph.EraseNode(node);
    ++erased;
  }
  return erased;
}

class DcePass : public Pass {
 public:
  absl::string_view name() const override { return "dce"; }
  absl::string_view doc() const override { return "Erases nodes whose results nobody uses."; }
  absl::Status Run(Module& module, PassContext& context) override {
    const std::vector<Graph*> graphs = module.AllGraphs();
    EffectfulGraphs effectful;
    int64_t erased = 0;
    for (auto it = graphs.rbegin(); it != graphs.rend(); ++it) {
      erased += EraseDeadNodes(**it, &effectful);
    }
    context.Count("erased", erased);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateDcePass() { return std::make_unique<DcePass>(); }

}  // namespace weft
