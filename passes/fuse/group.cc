#include "passes/fuse/group.h"

#include "absl/container/flat_hash_set.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Constants of at most this many elements are copied into nested graphs, where
// kernels see their values.
constexpr int64_t kMaxInline = 16;

}  // namespace

bool ComesAlong(const Value* value) {
  const HostTensor* literal = LiteralOf(value);
  return literal != nullptr && literal->numel() <= kMaxInline;
}

std::vector<Graph*> GraphsToFuse(const Module& module) {
  std::vector<Graph*> graphs;
  for (const auto& function : module.functions()) {
    graphs.push_back(function.get());
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->num_region_nodes() == 0) continue;
    for (Node* node : graphs[i]->nodes()) {
      if (node->Is(ops::fused)) continue;
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
      }
    }
  }
  return graphs;
}

std::vector<Value*> InputsOf(const Units& units, int unit) {
  std::vector<Value*> inputs;
  absl::flat_hash_set<const Value*> seen;
  for (Node* node : units.NodesOf(unit)) {
    for (int i = 0; i < node->num_operands(); ++i) {
      Value* v = node->operand(i);
      if (v == nullptr || units.Contains(unit, v) || ComesAlong(v)) continue;
      if (seen.insert(v).second) inputs.push_back(v);
    }
  }
  return inputs;
}

std::vector<Value*> OutputsOf(const Units& units, int unit) {
  std::vector<Value*> outputs;
  for (Node* node : units.NodesOf(unit)) {
    for (int i = 0; i < node->num_results(); ++i) {
      Value* v = node->result(i);
      for (Use* use = v->first_use(); use != nullptr; use = use->next()) {
        Node* user = use->user();
        if (user != user->graph()->return_node() && units.Of(user) == unit) {
          continue;
        }
        outputs.push_back(v);
        break;
      }
    }
  }
  return outputs;
}

}  // namespace weft
