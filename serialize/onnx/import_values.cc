// What is known of values: literals, specialised inputs, symbolic integers.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "graph/ops/evaluate.h"
#include "serialize/onnx/import_model.h"

namespace weft::onnx_import {
namespace {

// Importing evaluates what operators must know, and no more.
constexpr int kMaxEvaluatedNodes = 256;
constexpr int64_t kMaxEvaluatedElements = 1 << 16;

bool IsSmall(Type type) {
  if (!type.is_tensor() || !type.is_static()) return true;  // Checked later.
  const SymInt n = type.numel();
  return n.is_constant() && n.value() <= kMaxEvaluatedElements;
}

bool CanEvaluate(const Node* node) {
  if (!node->op().is_pure() || node->num_regions() > 0 ||
      node->attr_list()->is_symbolic()) {
    return false;
  }
  for (int i = 0; i < node->num_results(); ++i) {
    if (!IsSmall(node->result(i)->type())) return false;
  }
  return true;
}

}  // namespace

const HostTensor* ModelImporter::Specialize(const Value* value) {
  auto it = given_.find(value);
  if (it == given_.end()) return nullptr;
  Graph* main = module_->main();
  main->input_info(value->index()).value =
      module_->constants().Add(*it->second);
  return it->second;
}

std::optional<HostTensor> ModelImporter::Evaluate(Value* v, bool specialize) {
  if (const HostTensor* literal = LiteralOf(v)) return *literal;
  // Post-order: the nodes that `v` follows from, operands first.
  absl::flat_hash_map<const Value*, HostTensor> known;
  std::vector<const Value*> inputs;
  std::vector<Node*> order;
  std::vector<Value*> stack = {v};
  absl::flat_hash_map<const Node*, bool> done;
  while (!stack.empty()) {
    Value* top = stack.back();
    if (top == nullptr || known.contains(top)) {
      stack.pop_back();
      continue;
    }
    if (const HostTensor* literal = LiteralOf(top)) {
      known[top] = *literal;
      continue;
    }
    Node* node = top->node();
    if (node == nullptr) {
      auto given = given_.find(top);
      if (!specialize || given == given_.end()) return std::nullopt;
      known[top] = *given->second;
      inputs.push_back(top);
      continue;
    }
    auto [it, first] = done.emplace(node, false);
    if (first) {
      if (!CanEvaluate(node)) return std::nullopt;
      if (static_cast<int>(done.size()) > kMaxEvaluatedNodes) {
        return std::nullopt;
      }
      for (int i = 0; i < node->num_operands(); ++i) {
        stack.push_back(node->operand(i));
      }
      continue;
    }
    if (it->second) return std::nullopt;  // Its results are not tensors.
    it->second = true;
    std::vector<HostTensor> operands;
    for (int i = 0; i < node->num_operands(); ++i) {
      Value* operand = node->operand(i);
      operands.push_back(operand ? known[operand] : HostTensor());
    }
    auto results =
        weft::Evaluate(node->op(), node->attr_list(), operands);
    if (!results.ok()) return std::nullopt;
    for (int i = 0; i < node->num_results(); ++i) {
      known[node->result(i)] = (*results)[i];
    }
  }
  for (const Value* input : inputs) Specialize(input);
  return known[v];
}

std::optional<std::vector<SymInt>> ModelImporter::KnownInts(Value* v) {
  const std::vector<SymInt>* known = symbolic_.Of(v);
  if (known != nullptr) return *known;
  // Literals of other integer dtypes.
  constexpr int64_t kMaxElements = 1024;
  const HostTensor* literal = LiteralOf(v);
  if (literal == nullptr || literal->numel() > kMaxElements ||
      !(IsInt(literal->dtype()) || literal->dtype() == DType::kBool)) {
    return std::nullopt;
  }
  return ToSymInts(literal->ReadInts());
}

}  // namespace weft::onnx_import
