#include "graph/ops/symbolic_values.h"

#include <algorithm>
#include <functional>

#include "graph/ir/attr.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
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

// --- Pointwise arithmetic ------------------------------------------------------

SymInt FromProof(Proof proof) {
  if (proof == Proof::kUnknown) return SymInt::Invalid();
  return proof == Proof::kYes ? 1 : 0;
}

SymInt KnownNot(SymInt a) { return a.is_constant() ? SymInt(a.value() == 0) : SymInt::Invalid(); }

// One operand may decide alone.
SymInt KnownAnd(SymInt a, SymInt b) {
  if (a.Is(0) || b.Is(0)) return 0;
  if (!a.is_constant() || !b.is_constant()) return SymInt::Invalid();
  return 1;
}

SymInt KnownOr(SymInt a, SymInt b) { return KnownNot(KnownAnd(KnownNot(a), KnownNot(b))); }

SymInt KnownSelect(SymInt condition, SymInt self, SymInt other) {
  if (self == other) return self;
  if (!condition.is_constant()) return SymInt::Invalid();
  return condition.Is(0) ? other : self;
}

using BinaryFn = SymInt (*)(const SymbolTable&, SymInt, SymInt);

struct BinaryRule {
  const OpDef* op;
  BinaryFn fn;
};

SymInt Add(const SymbolTable&, SymInt a, SymInt b) { return a + b; }
SymInt Multiply(const SymbolTable&, SymInt a, SymInt b) { return a * b; }

const BinaryRule kBinaryRules[] = {
    {&ops::add, Add},
    {&ops::sub, [](const SymbolTable&, SymInt a, SymInt b) { return a - b; }},
    {&ops::mul, Multiply},
    {&ops::maximum, ops::KnownMax},
    {&ops::minimum, ops::KnownMin},
    {&ops::eq, [](const SymbolTable& s, SymInt a, SymInt b) { return FromProof(s.ProveEq(a, b)); }},
    {&ops::ne,
     [](const SymbolTable& s, SymInt a, SymInt b) { return KnownNot(FromProof(s.ProveEq(a, b))); }},
    {&ops::le, [](const SymbolTable& s, SymInt a, SymInt b) { return FromProof(s.ProveLe(a, b)); }},
    {&ops::ge, [](const SymbolTable& s, SymInt a, SymInt b) { return FromProof(s.ProveLe(b, a)); }},
    {&ops::lt, [](const SymbolTable& s, SymInt a, SymInt b) { return FromProof(s.ProveLt(a, b)); }},
    {&ops::gt, [](const SymbolTable& s, SymInt a, SymInt b) { return FromProof(s.ProveLt(b, a)); }},
};

bool IsNotNegative(const SymbolTable& symbols, SymInt a) { return symbols.RangeOf(a).min >= 0; }

SymInt FloorDivide(const SymbolTable&, SymInt a, SymInt b) {
  return b.Is(0) ? SymInt::Invalid() : FloorDiv(a, b);
}

SymInt TruncDivide(const SymbolTable& symbols, SymInt a, SymInt b) {
  if (!IsNotNegative(symbols, a) || !IsNotNegative(symbols, b)) {
    return SymInt::Invalid();
  }
  return FloorDivide(symbols, a, b);
}

SymInt Remainder(const SymbolTable&, SymInt a, SymInt b) {
  return b.Is(0) ? SymInt::Invalid() : Mod(a, b);
}

SymInt Fmod(const SymbolTable& symbols, SymInt a, SymInt b) {
  if (!IsNotNegative(symbols, a) || !IsNotNegative(symbols, b)) {
    return SymInt::Invalid();
  }
  return Remainder(symbols, a, b);
}

BinaryFn FindBinaryRule(const Node& node) {
  for (const BinaryRule& rule : kBinaryRules) {
    if (node.Is(*rule.op)) return rule.fn;
  }
  if (node.Is(ops::div)) {
    return node.attrs().Str("rounding_mode") == "floor" ? FloorDivide : TruncDivide;
  }
  if (node.Is(ops::remainder)) return Remainder;
  if (node.Is(ops::fmod)) return Fmod;
  return nullptr;
}

// Calls `fn(i, offsets)` with the positions of the operands' elements that
// element `i` of the result depends on.
template <size_t N, typename Fn>
bool ForEachElement(const Node& node, Fn fn) {
  const auto out = SmallDims(node.result()->type());
  if (!out) return false;
  std::array<std::vector<int64_t>, N> strides;
  for (size_t k = 0; k < N; ++k) {
    const auto dims = SmallDims(node.operand(static_cast<int>(k))->type());
    if (!dims) return false;
    strides[k] = ops::BroadcastStrides(*dims, *out);
  }
  ops::ForEachOffset<N>(*out, strides, fn);
  return true;
}

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
  if (node.Is(ops::sym_constant)) {
    const auto values = node.attrs().Syms("values");
    results[0] = Elements(values.begin(), values.end());
    return results;
  }
  if (!node.op().is_mergeable() || node.num_regions() > 0) return results;
  if (auto constants = EvaluateConstant(node)) return *std::move(constants);
  if (node.op().has(kDataMovement)) {
    if (auto moved = MoveData(node)) return *std::move(moved);
    return results;
  }
  if (node.num_results() == 1) {
    results[0] = Arithmetic(node);
  }
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

namespace {

using Operands = std::vector<const Elements*>;

bool ApplyBinary(const Node& node, const Operands& in, absl::FunctionRef<SymInt(SymInt, SymInt)> fn,
                 Elements* out) {
  return ForEachElement<2>(node, [&](int64_t i, const std::array<int64_t, 2>& at) {
    (*out)[i] = fn((*in[0])[at[0]], (*in[1])[at[1]]);
  });
}

bool ApplyWhere(const Node& node, const Operands& in, Elements* out) {
  return ForEachElement<3>(node, [&](int64_t i, const std::array<int64_t, 3>& at) {
    (*out)[i] = KnownSelect((*in[0])[at[0]], (*in[1])[at[1]], (*in[2])[at[2]]);
  });
}

bool ApplyUnary(const Elements& in, absl::FunctionRef<SymInt(SymInt)> fn, Elements* out) {
  std::transform(in.begin(), in.end(), out->begin(), fn);
  return true;
}

// Unknown operands give unknown results.
bool ApplyArithmetic(const Node& node, const Operands& in, const SymbolTable& symbols, BinaryFn fn,
                     Elements* out) {
  return ApplyBinary(
      node, in,
      [&](SymInt a, SymInt b) {
        return a.is_valid() && b.is_valid() ? fn(symbols, a, b) : SymInt::Invalid();
      },
      out);
}

// With one result element, whatever dims the node names, all are reduced.
bool ApplyReduction(const Elements& in, BinaryFn fn, const SymbolTable& symbols, Elements* out) {
  if (out->size() != 1 || in.empty()) return false;
  SymInt total = in[0];
  for (size_t i = 1; i < in.size(); ++i) total = fn(symbols, total, in[i]);
  (*out)[0] = total;
  return true;
}

SymInt ToBool(const SymbolTable& symbols, SymInt a) {
  if (!a.is_valid()) return a;
  return KnownNot(FromProof(symbols.ProveEq(a, 0)));
}

// Fills `out` by the rule for the node's op, if there is one.
bool Apply(const Node& node, const Operands& in, const SymbolTable& symbols, Elements* out) {
  const bool to_bool = node.result()->type().dtype() == DType::kBool;
  if (node.Is(ops::where)) return ApplyWhere(node, in, out);
  if (node.Is(ops::logical_and)) return ApplyBinary(node, in, KnownAnd, out);
  if (node.Is(ops::logical_or)) return ApplyBinary(node, in, KnownOr, out);
  if (node.Is(ops::logical_not)) return ApplyUnary(*in[0], KnownNot, out);
  if (node.Is(ops::neg)) {
    return ApplyUnary(
        *in[0], [](SymInt a) { return -a; }, out);
  }
  if (node.Is(ops::convert)) {
    return ApplyUnary(
        *in[0], [&](SymInt a) { return to_bool ? ToBool(symbols, a) : a; }, out);
  }
  if (node.Is(ops::sum)) return ApplyReduction(*in[0], Add, symbols, out);
  if (node.Is(ops::prod)) return ApplyReduction(*in[0], Multiply, symbols, out);
  if (node.Is(ops::add) && to_bool) return false;
  BinaryFn fn = FindBinaryRule(node);
  return fn != nullptr && ApplyArithmetic(node, in, symbols, fn, out);
}

}  // namespace

std::optional<Elements> SymbolicValues::Arithmetic(const Node& node) const {
  if (!IsCandidate(node.result())) return std::nullopt;
  Operands in(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    in[i] = Operand(node, i);
    if (in[i] == nullptr) return std::nullopt;
  }
  Elements out(node.result()->type().numel().value());
  if (!Apply(node, in, module_.symbols(), &out)) return std::nullopt;
  return out;
}

}  // namespace weft
