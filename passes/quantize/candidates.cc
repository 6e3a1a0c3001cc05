// Collects the nodes that a policy speaks of, and the values that are constant.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/support/region.h"
#include "passes/quantize/annotate.h"

namespace weft {
namespace {

class Collector {
 public:
  Collector(const QuantPolicy& policy, QuantCandidates* out) : out_(*out) {
    for (size_t i = 0; i < policy.rows.size(); ++i) {
      rows_[policy.rows[i].op].push_back(static_cast<int>(i));
    }
    for (const QuantPolicy::Propagation& propagation : policy.propagations) {
      for (const OpDef* op : propagation.ops) propagated_.emplace(op, propagation.spec);
    }
  }

  // Outer graphs come before those nested in them.
  void Add(const Graph& graph) {
    for (int i = 0; i < graph.num_inputs(); ++i) {
      if (IsConstantInput(graph, i)) out_.constants.insert(graph.input(i));
    }
    out_.graphs.emplace_back();
    for (Node* node : graph.nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) owners_[node->region(r)] = node;
      if (IsConstantNode(*node)) {
        for (int i = 0; i < node->num_results(); ++i) out_.constants.insert(node->result(i));
        continue;
      }
      AddCandidate(node);
    }
  }

 private:
  bool IsConstantInput(const Graph& graph, int i) const {
    const auto owner = owners_.find(&graph);
    if (owner != owners_.end()) {
      const int operand = ops::CapturedOperand(*owner->second, i);
      return operand >= 0 && operand < owner->second->num_operands() &&
             out_.constants.contains(owner->second->operand(operand));
    }
    const std::vector<int>& writes = graph.write_backs();
    return graph.input_info(i).initial >= 0 &&
           std::find(writes.begin(), writes.end(), i) == writes.end();
  }

  bool IsConstantNode(const Node& node) const {
    if (node.Is(ops::constant)) return true;
    if (!node.op().is_pure() || node.num_regions() > 0 || node.num_operands() == 0) return false;
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.has_operand(i) && !out_.constants.contains(node.operand(i))) return false;
    }
    return node.has_operand(0);
  }

  void AddCandidate(Node* node) {
    const auto rows = rows_.find(&node->op());
    const auto propagated = propagated_.find(&node->op());
    if (rows == rows_.end() && propagated == propagated_.end()) return;
    QuantCandidate candidate;
    candidate.node = node;
    if (rows != rows_.end()) candidate.rows = rows->second;
    if (propagated != propagated_.end()) candidate.propagated = propagated->second;
    out_.graphs.back().push_back(std::move(candidate));
  }

  QuantCandidates& out_;
  absl::flat_hash_map<const OpDef*, std::vector<int>> rows_;
  absl::flat_hash_map<const OpDef*, int> propagated_;
  // The nodes that hold the nested graphs met so far.
  absl::flat_hash_map<const Graph*, const Node*> owners_;
};

}  // namespace

QuantCandidates CollectQuantCandidates(const Module& module, const QuantPolicy& policy) {
  QuantCandidates candidates;
  Collector collector(policy, &candidates);
  for (const Graph* graph : module.AllGraphs()) collector.Add(*graph);
  return candidates;
}

}  // namespace weft
