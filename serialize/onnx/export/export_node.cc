#include "serialize/onnx/export/export_node.h"

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_facts.h"

namespace weft::onnx_export {
namespace {

// Whether `size` cannot be 0.
bool IsPositive(SymInt size, const SymbolTable& facts) { return facts.RangeOf(size).min >= 1; }

// Sizes for Reshape made of constants, 0 ("as in the input") and at most one
// -1 ("the rest"); nullopt when these may not mean `to`.
std::optional<std::vector<int64_t>> PlainShape(absl::Span<const SymInt> from,
                                               absl::Span<const SymInt> to,
                                               const SymbolTable& facts) {
  std::vector<int64_t> shape;
  int unknown = 0;
  bool all_positive = true;  // The sizes that are not the rest.
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_constant() && !to[i].Is(0)) {
      shape.push_back(to[i].value());
    } else if (i < from.size() && from[i] == to[i]) {
      shape.push_back(0);
      if (!IsPositive(to[i], facts)) all_positive = false;
    } else {
      shape.push_back(-1);
      ++unknown;
    }
  }
  if (unknown == 0 || (unknown == 1 && all_positive)) return shape;
  return std::nullopt;
}

}  // namespace

int64_t NodeExport::Dim(absl::string_view name, int rank) const {
  const int64_t dim = Int(name);
  return dim < 0 ? dim + rank : dim;
}

std::vector<int64_t> NodeExport::Dims(absl::string_view name, int rank) const {
  std::vector<int64_t> dims = attrs().Ints(name);
  for (int64_t& dim : dims) dim = dim < 0 ? dim + rank : dim;
  return dims;
}

absl::Status NodeExport::CheckFits(double attr) const {
  if (dtype() != DType::kF64 || static_cast<double>(static_cast<float>(attr)) == attr) {
    return absl::OkStatus();
  }
  return Unsupported("of f64 needs attributes that are exact in f32");
}

const SymbolTable& NodeExport::facts() const { return w_->model().module().symbols(); }

int NodeExport::num_operands() const { return node_.num_operands(); }
bool NodeExport::has(int i) const { return node_.has_operand(i); }
Type NodeExport::type(int i) const { return node_.operand(i)->type(); }
const HostTensor* NodeExport::literal(int i) const { return LiteralOf(node_.operand(i)); }
Type NodeExport::out_type(int i) const { return node_.result(i)->type(); }
bool NodeExport::used(int i) const { return node_.result(i)->has_uses(); }
Attrs NodeExport::attrs() const { return node_.attrs(); }

Val NodeExport::in(int i) const { return has(i) ? w_->Find(node_.operand(i)) : nullptr; }

std::vector<Val> NodeExport::ins() const {
  std::vector<Val> values;
  for (int i = 0; i < num_operands(); ++i) values.push_back(in(i));
  return values;
}

void NodeExport::SetOutput(int i, Val val) {
  if (static_cast<int>(outputs_.size()) <= i) outputs_.resize(i + 1);
  outputs_[i] = val;
}

Val NodeExport::Reshape(Val val, absl::Span<const SymInt> from, absl::Span<const SymInt> to) {
  if (const auto shape = PlainShape(from, to, facts())) {
    return Op("Reshape", {val, Ints(*shape)});
  }
  return Op("Reshape", {val, Sizes(to)}, {{"allowzero", 1}});
}

Val NodeExport::Full(absl::Span<const SymInt> sizes, const HostTensor& value) {
  if (sizes.empty()) return w_->Tensor(value.Reshaped({}));
  return Op("Expand", {w_->Tensor(value.Reshaped({})), Sizes(sizes)});
}

absl::Status ExportDirect(NodeExport& e) {
  e.SetOutput(0, e.w().Op(e.op_type(), e.ins()));
  return absl::OkStatus();
}

}  // namespace weft::onnx_export
