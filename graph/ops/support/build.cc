#include "graph/ops/support/build.h"

#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"

namespace weft::ops {

DType ComputeDType(DType dtype) {
  return IsFloat(dtype) && DTypeBits(dtype) < 32 ? DType::kF32 : dtype;
}

std::vector<SymInt> DimsOf(Type type) {
  return std::vector<SymInt>(type.dims().begin(), type.dims().end());
}

Value* Convert(Builder& b, Value* v, DType dtype) {
  if (v == nullptr || v->type().dtype() == dtype) return v;
  return b.Op(convert, {v}, {{"dtype", dtype}});
}

Value* Reshape(Builder& b, Value* v, std::vector<SymInt> size) {
  if (v == nullptr || v->type().dims() == absl::MakeConstSpan(size)) return v;
  return b.Op(reshape, {v}, {{"size", std::move(size)}});
}

Value* Expand(Builder& b, Value* v, std::vector<SymInt> size) {
  if (v == nullptr || v->type().dims() == absl::MakeConstSpan(size)) return v;
  return b.Op(expand, {v}, {{"size", std::move(size)}});
}

Value* Permute(Builder& b, Value* v, std::vector<int64_t> dims) {
  bool moves = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    moves = moves || dims[i] != static_cast<int64_t>(i);
  }
  return moves ? b.Op(permute, {v}, {{"dims", dims}}) : v;
}

Value* Transpose(Builder& b, Value* v) {
  if (v == nullptr) return v;
  std::vector<int64_t> dims(v->type().rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
  return Permute(b, v, std::move(dims));
}

Value* Slice(Builder& b, Value* v, int64_t dim, SymInt start, SymInt end, SymInt step) {
  return b.Op(slice, {v}, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}

Value* Reduce(Builder& b, const OpDef& op, Value* v, std::vector<int64_t> dims) {
  // No dims would mean all of them.
  if (dims.empty()) return v;
  return b.Op(op, {v}, {{"dim", dims}, {"keepdim", true}});
}

Value* WithScalar(Builder& b, const OpDef& op, Value* v, double scalar) {
  if (v == nullptr) return v;
  return b.Op(op, {v, b.Scalar(v->type().dtype(), scalar)});
}

}  // namespace weft::ops
