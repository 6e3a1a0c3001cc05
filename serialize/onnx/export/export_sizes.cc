// Symbolic sizes as values of the model.
//
// A symbol is a size of the value that defines it (Shape), or the contents of
// one (the operand of `item`); an expression is arithmetic on i64[1]. Each is
// computed once in a graph, and those of graphs around it are used as they are.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_writer.h"

namespace weft::onnx_export {

const GraphWriter::SymbolDefinition* GraphWriter::FindSymbol(SymInt symbol) const {
  for (const GraphWriter* w = this; w != nullptr; w = w->outer_) {
    auto it = w->symbols_.find(symbol);
    if (it != w->symbols_.end()) return &it->second;
  }
  return nullptr;
}

// Defines the symbol of `offset + divisor * symbol`.
void GraphWriter::DefineSize(SymInt size, Val val, int dim) {
  SymbolDefinition definition = {val, dim};
  if (size.kind() == SymInt::Kind::kSum && size.args().size() == 1) {
    definition.offset = size.coefficient();
    size = size.args()[0];
  }
  if (size.kind() == SymInt::Kind::kProduct && size.args().size() == 1) {
    definition.divisor = size.coefficient();
    size = size.args()[0];
  }
  if (!size.is_symbol() || FindSymbol(size) != nullptr) return;
  val->shared = true;
  symbols_.emplace(size, definition);
}

void GraphWriter::DefineSymbols(Type type, Val val) {
  if (type.is_symint()) DefineSize(type.symint(), val, -1);
  if (!type.is_tensor()) return;
  for (int i = 0; i < type.rank(); ++i) {
    if (type.dim(i).is_symbol()) DefineSize(type.dim(i), val, i);
  }
  for (int i = 0; i < type.rank(); ++i) {
    if (!type.dim(i).is_constant()) DefineSize(type.dim(i), val, i);
  }
}

Val GraphWriter::SymbolValue(SymInt symbol) {
  const SymbolDefinition* found = FindSymbol(symbol);
  if (found == nullptr) {
    model_->Fail(absl::UnimplementedError(
        absl::StrCat("no input and no node gives the size ", symbol.ToString())));
    return Ints({0});
  }
  const SymbolDefinition d = *found;
  Val size = d.value;
  if (d.dim >= 0) {
    size = Shared("Shape", {d.value}, {{"start", int64_t{d.dim}}, {"end", int64_t{d.dim} + 1}});
  }
  if (d.offset != 0) size = Shared("Sub", {size, Ints({d.offset})});
  if (d.divisor != 1) size = Shared("Div", {size, Ints({d.divisor})});
  return size;
}

Val GraphWriter::SumOrProduct(SymInt size) {
  const bool sum = size.kind() == SymInt::Kind::kSum;
  Val result = nullptr;
  for (SymInt arg : size.args()) {
    Val v = Size(arg);
    result = result ? Shared(sum ? "Add" : "Mul", {result, v}) : v;
  }
  const int64_t c = size.coefficient();
  if (c == (sum ? 0 : 1)) return result;
  if (sum && c < 0 && c != SymRange::kMin) {
    return Shared("Sub", {result, Ints({-c})});
  }
  return Shared(sum ? "Add" : "Mul", {result, Ints({c})});
}

// ONNX divides toward zero: (a - mod(a, b)) / b rounds down for any signs.
Val GraphWriter::FloorDivSize(SymInt size) {
  const SymInt a = size.args()[0];
  const SymInt b = size.args()[1];
  const SymbolTable& facts = model_->module().symbols();
  Val dividend = Size(a);
  Val divisor = Size(b);
  if (facts.RangeOf(a).min < 0 || facts.RangeOf(b).min < 0) {
    dividend = Shared("Sub", {dividend, Shared("Mod", {dividend, divisor})});
  }
  return Shared("Div", {dividend, divisor});
}

// The one that is not 1.
Val GraphWriter::BroadcastSizeValue(SymInt size) {
  Val result = nullptr;
  for (SymInt arg : size.args()) {
    Val v = Size(arg);
    result = result ? Shared("Where", {Shared("Equal", {result, Ints({1})}), v, result}) : v;
  }
  return result;
}

Val GraphWriter::ComputeSize(SymInt size) {
  using Kind = SymInt::Kind;
  const auto args = [&] {
    std::vector<Val> values;
    for (SymInt arg : size.args()) values.push_back(Size(arg));
    return values;
  };
  switch (size.kind()) {
    case Kind::kConst:
      return Ints({size.value()});
    case Kind::kSymbol:
      return SymbolValue(size);
    case Kind::kSum:
    case Kind::kProduct:
      return SumOrProduct(size);
    case Kind::kFloorDiv:
      return FloorDivSize(size);
    case Kind::kMod:
      return Shared("Mod", args());
    case Kind::kMin:
      return Shared("Min", args());
    case Kind::kMax:
      return Shared("Max", args());
    case Kind::kBroadcast:
      return BroadcastSizeValue(size);
    case Kind::kNonNegative:
    case Kind::kZero: {
      const char* compare = size.kind() == Kind::kZero ? "Equal" : "GreaterOrEqual";
      const Val condition = Shared(compare, {Size(size.args()[0]), Ints({0})});
      return Shared("Where", {condition, Ints({1}), Ints({0})});
    }
    case Kind::kPow:
      return Shared("Pow", args());
    case Kind::kSelect: {
      const auto parts = args();
      return Shared("Where", {Shared("Greater", {parts[0], Ints({0})}), parts[1], parts[2]});
    }
    case Kind::kInvalid:
      break;
  }
  model_->Fail(absl::InvalidArgumentError("a size is not a number"));
  return Ints({0});
}

Val GraphWriter::Size(SymInt size) {
  for (const GraphWriter* w = this; w != nullptr; w = w->outer_) {
    auto it = w->sizes_.find(size);
    if (it != w->sizes_.end()) return it->second;
  }
  Val val = ComputeSize(size);
  sizes_[size] = val;
  new_sizes_.push_back(size);
  return val;
}

Val GraphWriter::ScalarSize(SymInt size) {
  if (const auto c = size.constant()) {
    return Tensor(HostTensor::ScalarInt(DType::kI64, *c));
  }
  return Shared("Squeeze", {Size(size), Ints({0})});
}

Val GraphWriter::Sizes(absl::Span<const SymInt> sizes) {
  std::vector<Val> parts;
  std::vector<int64_t> constants;
  const auto flush = [&] {
    if (!constants.empty()) parts.push_back(Ints(constants));
    constants.clear();
  };
  for (SymInt size : sizes) {
    if (const auto c = size.constant()) {
      constants.push_back(*c);
    } else {
      flush();
      parts.push_back(Size(size));
    }
  }
  if (parts.empty()) return Ints(constants);
  flush();
  if (parts.size() == 1) return parts[0];
  return Shared("Concat", parts, {{"axis", int64_t{0}}});
}

}  // namespace weft::onnx_export
