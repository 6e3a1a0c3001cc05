// Known values: literals, specialised inputs, symbolic integers.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_model.h"

namespace weft::onnx_import {
namespace {

// Limits of evaluation, which importing uses only where an operator requires a value.
constexpr int kMaxEvaluatedNodes = 256;
constexpr int64_t kMaxEvaluatedElements = 1 << 16;

bool IsSmall(Type type) {
  if (!type.is_tensor() || !type.is_static()) return true;  // Checked later.
  const SymInt n = type.numel();
  return n.is_constant() && n.value() <= kMaxEvaluatedElements;
}

bool CanEvaluate(const Node* node) {
  if (!node->op().is_pure() || node->num_regions() > 0 || node->attr_list()->is_symbolic()) {
    return false;
  }
  for (int i = 0; i < node->num_results(); ++i) {
    if (!IsSmall(node->result(i)->type())) return false;
  }
  return true;
}

// Evaluates one value and the nodes that it depends on, operands first.
class Evaluator {
 public:
  using Given = absl::flat_hash_map<const Value*, const HostTensor*>;

  // `given` has values of inputs; null if inputs must not be used.
  explicit Evaluator(const Given* given) : given_(given) {}

  std::optional<HostTensor> Run(Value* value) {
    stack_ = {value};
    while (!stack_.empty()) {
      Value* top = stack_.back();
      if (top == nullptr || known_.contains(top)) {
        stack_.pop_back();
      } else if (const HostTensor* literal = LiteralOf(top)) {
        known_[top] = *literal;
      } else if (!(top->is_input() ? UseInput(top) : Visit(top->node()))) {
        return std::nullopt;
      }
    }
    return known_[value];
  }

  // The inputs that were used.
  const std::vector<const Value*>& inputs() const { return inputs_; }

 private:
  bool UseInput(const Value* input) {
    if (given_ == nullptr) return false;
    auto given = given_->find(input);
    if (given == given_->end()) return false;
    known_[input] = *given->second;
    inputs_.push_back(input);
    return true;
  }

  // At the first visit queues the operands, at the second computes.
  bool Visit(Node* node) {
    auto [it, first] = computed_.emplace(node, false);
    if (!first) return !it->second && Compute(node);
    if (!CanEvaluate(node)) return false;
    for (int i = 0; i < node->num_operands(); ++i) {
      stack_.push_back(node->operand(i));
    }
    return static_cast<int>(computed_.size()) <= kMaxEvaluatedNodes;
  }

  bool Compute(Node* node) {
    computed_[node] = true;
    std::vector<HostTensor> operands;
    for (int i = 0; i < node->num_operands(); ++i) {
      Value* operand = node->operand(i);
      operands.push_back(operand ? known_[operand] : HostTensor());
    }
    auto results = weft::Evaluate(node->op(), node->attr_list(), operands);
    if (!results.ok()) return false;
    for (int i = 0; i < node->num_results(); ++i) {
      known_[node->result(i)] = (*results)[i];
    }
    return true;
  }

  const Given* given_;
  std::vector<Value*> stack_;
  absl::flat_hash_map<const Value*, HostTensor> known_;
  absl::flat_hash_map<const Node*, bool> computed_;
  std::vector<const Value*> inputs_;
};

}  // namespace

std::optional<int64_t> ModelImporter::GivenSize(SymInt symbol) const {
  auto it = given_sizes_.find(symbol);
  if (it == given_sizes_.end()) return std::nullopt;
  return it->second;
}

const HostTensor* ModelImporter::Specialize(const Value* value) {
  auto it = given_.find(value);
  if (it == given_.end()) return nullptr;
  Graph* main = module_->main();
  main->input_info(value->index()).value = module_->constants().Add(*it->second);
  return it->second;
}

std::optional<HostTensor> ModelImporter::Evaluate(Value* v, bool specialize) {
  if (const HostTensor* literal = LiteralOf(v)) return *literal;
  Evaluator evaluator(specialize ? &given_ : nullptr);
  std::optional<HostTensor> result = evaluator.Run(v);
  if (!result) return std::nullopt;
  for (const Value* input : evaluator.inputs()) Specialize(input);
  return result;
}

namespace {

// The value of one element from which `v` was made by reshapes and by concatenation or slicing.
Value* OneElementOf(Value* v) {
  constexpr int kMaxSteps = 16;
  for (int i = 0; i < kMaxSteps && !v->is_input() && v->node() != nullptr; ++i) {
    const Node& node = *v->node();
    Value* from = nullptr;
    if (node.Is(ops::reshape)) {
      from = node.operand(0);
    } else if (node.Is(ops::slice) && node.operand(0)->IsResultOf(ops::cat)) {
      // A slice of concatenated single elements: element `start`.
      const Node& cat = *node.operand(0)->node();
      const auto start = node.attrs().Sym("start").constant();
      const int n = cat.num_operands();
      if (start && *start >= 0 && *start < n && cat.result()->type().numel().Is(n)) {
        from = cat.operand(static_cast<int>(*start));
      }
    }
    if (from == nullptr || !from->type().is_tensor() || !from->type().numel().Is(1)) return v;
    v = from;
  }
  return v;
}

}  // namespace

std::optional<SymInt> ModelImporter::KnownElement(Builder* b, Value* v) {
  SymInt offset = 0;
  constexpr int kMaxSteps = 16;
  for (int i = 0; i < kMaxSteps; ++i) {
    v = OneElementOf(v);
    if (const auto known = KnownInts(v)) {
      return known->size() == 1 ? std::optional<SymInt>((*known)[0] + offset) : std::nullopt;
    }
    if (auto it = items_.find(v); it != items_.end()) return it->second + offset;
    if (iterations_.contains(v)) {
      const auto item = Item(b, v);
      return item ? std::optional<SymInt>(*item + offset) : std::nullopt;
    }
    if (v->is_input() || !(v->node()->Is(ops::add) || v->node()->Is(ops::sub))) return std::nullopt;
    const Node& node = *v->node();
    const auto left = KnownInts(node.operand(0));
    const auto right = KnownInts(node.operand(1));
    if (right && right->size() == 1) {
      offset = node.Is(ops::add) ? offset + (*right)[0] : offset - (*right)[0];
      v = node.operand(0);
    } else if (node.Is(ops::add) && left && left->size() == 1) {
      offset = offset + (*left)[0];
      v = node.operand(1);
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<SymInt> ModelImporter::Item(Builder* b, Value* v) {
  Value* element = OneElementOf(v);
  if (auto it = items_.find(element); it != items_.end()) return it->second;
  Value* item = b->Op(ops::item, {v});
  if (item == nullptr) return std::nullopt;
  const SymInt symbol = item->type().symint();
  items_[element] = symbol;
  const auto counts = iterations_.find(element);
  if (counts == iterations_.end() || !symbol.is_symbol()) return symbol;
  SymbolInfo info;
  info.symbol = symbol;
  info.unbacked = true;  // A size, so not negative.
  module_->symbols().Declare(info);
  if (counts->second.is_valid()) {
    module_->symbols().Assume(Less(symbol, counts->second), "the iterations of a loop");
  }
  return symbol;
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
