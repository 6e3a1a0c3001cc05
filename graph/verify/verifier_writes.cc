// Invariant 14: writes by nodes, and write-backs.
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/verify/verifier.h"
#include "graph/verify/verifier_internal.h"

namespace weft::internal {
namespace {

absl::Status VerifyWriteBacks(const Graph& graph, bool is_root) {
  const auto fail = [&graph](absl::string_view message) {
    return BrokenInvariant(Invariant::kWrites, graph, nullptr, message);
  };
  const std::vector<int>& inputs = graph.write_backs();
  if (inputs.empty()) return absl::OkStatus();
  if (!is_root) return fail("a nested graph has write-backs");
  const int first = graph.num_own_outputs();
  if (first < 0) return fail("there are more write-backs than outputs");
  for (size_t k = 0; k < inputs.size(); ++k) {
    const int last = k == 0 ? -1 : inputs[k - 1];
    if (inputs[k] <= last || inputs[k] >= graph.num_inputs()) {
      return fail(absl::StrCat("write-back ", k, " is to input ", inputs[k], " of ",
                               graph.num_inputs(), ", and not in order"));
    }
    const Type want = graph.input(inputs[k])->type();
    const Type got = graph.output(first + static_cast<int>(k))->type();
    if (want.is_tensor() && IsLegalRefinement(got, want, graph.module().symbols())) {
      continue;
    }
    return fail(absl::StrCat("input ", inputs[k], " of type ", want.ToString(),
                             " gets a value of type ", got.ToString()));
  }
  return absl::OkStatus();
}

// Linear: the earlier values know which value they are views of.
absl::Status VerifyWriteNodes(const Graph& graph) {
  if (graph.num_write_nodes() == 0) return absl::OkStatus();
  std::vector<bool> is_constant(graph.value_id_limit());
  for (const Node* node : graph.nodes()) {
    const OpSchema& schema = node->op().schema();
    if (node->Is(ops::constant)) is_constant[node->result()->id()] = true;
    for (int i = 0; schema.views && i < node->num_results(); ++i) {
      const Value* viewed = ViewedBy(node->result(i));
      if (viewed == nullptr) continue;
      is_constant[node->result(i)->id()] = is_constant[viewed->id()];
    }
    if (!node->op().writes()) continue;
    for (int i = 0; i < schema.num_fixed_operands(); ++i) {
      if (!schema.operands[i].written || !node->has_operand(i)) continue;
      if (!is_constant[node->operand(i)->id()]) continue;
      return BrokenInvariant(Invariant::kWrites, graph, node,
                             absl::StrCat("operand ", schema.operands[i].name,
                                          " is a constant, or a view of one: write a clone"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyWrites(const Graph& graph, bool is_root) {
  const absl::Status status = VerifyWriteBacks(graph, is_root);
  return status.ok() ? VerifyWriteNodes(graph) : status;
}

}  // namespace weft::internal
