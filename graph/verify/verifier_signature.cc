// Invariant 13: names and values of inputs, and names of outputs.
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/tensor/tensor.h"
#include "graph/verify/verifier.h"
#include "graph/verify/verifier_internal.h"

namespace weft::internal {
namespace {

// Checks `id`, the constant that the input requires or begins with, or -1.
absl::Status CheckValueOf(const Graph& graph, int input, int id, absl::string_view verb) {
  if (id == -1) return absl::OkStatus();
  const Module& module = graph.module();
  if (id < 0 || id >= module.constants().size()) {
    return BrokenInvariant(Invariant::kSignature, graph, nullptr,
                           absl::StrCat("input ", input, " ", verb, " the value of constant ", id,
                                        ", which does not exist"));
  }
  const Type type = graph.input(input)->type();
  const Type constant = module.constants().tensor(id).type();
  const bool fits = type.is_symint() ? constant == Type::Scalar(DType::kI64)
                                     : IsLegalRefinement(constant, type, module.symbols());
  if (fits) return absl::OkStatus();
  return BrokenInvariant(Invariant::kSignature, graph, nullptr,
                         absl::StrCat("input ", input, " of type ", type.ToString(), " ", verb,
                                      " a value of type ", constant.ToString()));
}

}  // namespace

absl::Status VerifySignature(const Graph& graph) {
  absl::flat_hash_set<absl::string_view> names;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const InputInfo& info = graph.input_info(i);
    if (info.name.empty() || !names.insert(info.name).second) {
      return BrokenInvariant(
          Invariant::kSignature, graph, nullptr,
          absl::StrCat("the name \"", info.name, "\" of input ", i, " is empty or taken"));
    }
    WEFT_RETURN_IF_ERROR(CheckValueOf(graph, i, info.value, "requires"));
    WEFT_RETURN_IF_ERROR(CheckValueOf(graph, i, info.initial, "begins with"));
  }
  const Node* ret = graph.return_node();
  const size_t num_names = graph.output_names().size();
  if (num_names == 0 || num_names == static_cast<size_t>(ret->num_operands())) {
    return absl::OkStatus();
  }
  return BrokenInvariant(
      Invariant::kSignature, graph, ret,
      absl::StrCat(num_names, " output names for ", ret->num_operands(), " outputs"));
}

}  // namespace weft::internal
