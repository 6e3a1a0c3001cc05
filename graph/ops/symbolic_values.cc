#include "graph/ops/symbolic_values.h"

#include <utility>

#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_symbolic_eval.h"
#include "graph/ops/evaluate.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

using Elements = std::vector<SymInt>;

bool IsTracked(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kBool;
}

// The dims of a tensor whose elements may be kept, whatever its dtype.
std::optional<std::vector<int64_t>> SmallDims(Type type) {
  if (!type.is_tensor()) return std::nullopt;
  const SymInt numel = type.numel();
  if (!numel.is_constant() || numel.value() > SymbolicValues::kMaxElements) {
    return std::nullopt;
  }
  return type.static_dims();
}

// A value whose elements are computed: not one of a graph's inputs.
bool IsCandidate(const Value* value) {
  if (value == nullptr || value->is_input()) return false;
  const Type type = value->type();
  return type.is_tensor() && IsTracked(type.dtype()) && SmallDims(type).has_value();
}

Elements ElementsOf(const HostTensor& t) { return ToSymInts(t.ReadInts()); }

// --- Handles ------------------------------------------------------------------

// Integers that stand for symbolic elements while an op moves them. Constants
// stand for themselves, so that indices work as they are.
class Handles {
 public:
  int64_t Of(SymInt element) {
    if (element.is_constant() && element.value() < kFirst) {
      return element.value();
    }
    elements_.push_back(element);
    return kFirst + static_cast<int64_t>(elements_.size()) - 1;
  }
  SymInt Element(int64_t handle) const {
    const int64_t i = handle - kFirst;
    if (i < 0) return handle;
    return i < static_cast<int64_t>(elements_.size()) ? elements_[i] : SymInt::Invalid();
  }

 private:
  static constexpr int64_t kFirst = int64_t{1} << 61;
  Elements elements_;
};

HostTensor IntTensor(DType dtype, Type type, const std::vector<int64_t>& values) {
  return HostTensor::FromInts(dtype, *SmallDims(type), values);
}

}  // namespace

// --- Memo -----------------------------------------------------------------------

const Elements* SymbolicValues::Find(const Value* value) const {
  auto it = known_.find({value->node()->graph(), value->id()});
  return it == known_.end() ? nullptr : it->second.get();
}

bool SymbolicValues::IsKnown(const Value* value) const {
  return known_.contains({value->node()->graph(), value->id()});
}

void SymbolicValues::Store(const Value* value, std::optional<Elements> elements) {
  known_[{value->node()->graph(), value->id()}] =
      elements ? std::make_unique<Elements>(*std::move(elements)) : nullptr;
}

const Elements* SymbolicValues::Of(const Value* value) {
  if (!IsCandidate(value) &&
      !(value != nullptr && !value->is_input() && value->type().is_symint())) {
    return nullptr;
  }
  Compute(value);
  const Elements* elements = Find(value);
  if (elements == nullptr) return nullptr;
  for (SymInt e : *elements) {
    if (!e.is_valid()) return nullptr;
  }
  return elements;
}

// Operands before their users, with a stack of its own.
void SymbolicValues::Compute(const Value* value) {
  std::vector<const Value*> stack = {value};
  while (!stack.empty()) {
    const Value* v = stack.back();
    if (IsKnown(v)) {
      stack.pop_back();
      continue;
    }
    if (v->type().is_symint()) {
      Store(v, Elements{v->type().symint()});
      continue;
    }
    const Node& node = *v->node();
    bool ready = true;
    for (int i = 0; i < node.num_operands(); ++i) {
      const Value* operand = node.operand(i);
      if (IsCandidate(operand) && !IsKnown(operand)) {
        stack.push_back(operand);
        ready = false;
      }
    }
    if (!ready) continue;
    Results results = Infer(node);
    for (int i = 0; i < node.num_results(); ++i) {
      Store(node.result(i), std::move(results[i]));
    }
  }
}

// --- Rules ------------------------------------------------------------------------

SymbolicValues::Results SymbolicValues::Infer(const Node& node) const {
  Results results(node.num_results());
  if (node.Is(ops::constant)) {
    results[0] = ElementsOf(*LiteralOf(node.result()));
    return results;
  }
  if (!node.op().is_mergeable() || node.num_regions() > 0) return results;
  if (auto constants = EvaluateConstant(node)) return *std::move(constants);
  if (node.op().has(kDataMovement)) {
    if (auto moved = MoveData(node)) return *std::move(moved);
    return results;
  }
  if (node.num_results() == 1) results[0] = ByRule(node);
  return results;
}

const Elements* SymbolicValues::Operand(const Node& node, int i) const {
  const Value* v = node.operand(i);
  return IsCandidate(v) ? Find(v) : nullptr;
}

namespace {

// The elements of a node's results, as they were evaluated; nullopt when they
// are not what the node's types say.
template <typename Fn>
std::optional<std::vector<std::optional<Elements>>> Collect(const Node& node,
                                                            const std::vector<HostTensor>& outputs,
                                                            Fn element) {
  std::vector<std::optional<Elements>> results(node.num_results());
  for (int i = 0; i < node.num_results(); ++i) {
    if (!IsCandidate(node.result(i))) continue;
    if (outputs[i].dims() != *SmallDims(node.result(i)->type())) {
      return std::nullopt;
    }
    results[i].emplace();
    for (int64_t v : outputs[i].ReadInts()) results[i]->push_back(element(v));
  }
  return results;
}

// A constant as it is, of any dtype, when it is small.
HostTensor SmallLiteral(const Value* value) {
  const HostTensor* t = LiteralOf(value);
  if (t == nullptr || t->numel() > SymbolicValues::kMaxElements) return {};
  return *t;
}

}  // namespace

std::optional<SymbolicValues::Results> SymbolicValues::EvaluateConstant(const Node& node) const {
  if (node.attr_list()->is_symbolic()) return std::nullopt;
  std::vector<HostTensor> inputs(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    const Value* v = node.operand(i);
    inputs[i] = SmallLiteral(v);
    if (inputs[i].valid()) continue;
    const Elements* elements = Operand(node, i);
    const auto values = elements != nullptr ? AllConstant(*elements) : std::nullopt;
    if (!values) return std::nullopt;
    inputs[i] = IntTensor(v->type().dtype(), v->type(), *values);
  }
  const auto outputs = Evaluate(node.op(), node.attr_list(), inputs);
  if (!outputs.ok()) return std::nullopt;
  return Collect(node, *outputs, [](int64_t v) { return SymInt(v); });
}

std::optional<SymbolicValues::Results> SymbolicValues::MoveData(const Node& node) const {
  if (node.attr_list()->is_symbolic()) return std::nullopt;
  Handles handles;
  std::vector<HostTensor> inputs(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    const Type type = node.operand(i)->type();
    const bool carries = type.is_tensor() && SmallDims(type) &&
                         (type.dtype() == DType::kI32 || type.dtype() == DType::kI64);
    if (!carries) {
      inputs[i] = SmallLiteral(node.operand(i));
      if (!inputs[i].valid()) return std::nullopt;
      continue;
    }
    // i32 as well: handles need the width.
    const Elements* elements = Operand(node, i);
    std::vector<int64_t> values(type.numel().value());
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = handles.Of(elements != nullptr ? (*elements)[k] : SymInt::Invalid());
    }
    inputs[i] = IntTensor(DType::kI64, type, values);
  }
  const auto outputs = Evaluate(node.op(), node.attr_list(), inputs);
  if (!outputs.ok()) return std::nullopt;
  for (const HostTensor& t : *outputs) {
    if (t.dtype() != DType::kI64) return std::nullopt;
  }
  return Collect(node, *outputs, [&](int64_t v) { return handles.Element(v); });
}

std::optional<Elements> SymbolicValues::ByRule(const Node& node) const {
  const OpSpec::SymbolicEvalFn rule = node.op().symbolic_eval();
  if (rule == nullptr || !IsCandidate(node.result())) return std::nullopt;
  std::vector<const Elements*> in(node.num_operands());
  Types types;
  for (int i = 0; i < node.num_operands(); ++i) {
    in[i] = Operand(node, i);
    if (in[i] == nullptr) return std::nullopt;
    types.push_back(node.operand(i)->type());
  }
  SymbolicEvalContext context(node.op(), node.attr_list(), module_.symbols(), in, std::move(types),
                              node.result()->type());
  if (!rule(context)) return std::nullopt;
  return std::move(context.out());
}

}  // namespace weft
