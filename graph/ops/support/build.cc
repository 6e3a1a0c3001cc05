#include "graph/ops/support/build.h"

#include <utility>

#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"

namespace weft::ops {

DType ComputeDType(DType dtype) {
  return IsFloat(dtype) && DTypeBits(dtype) < 32 ? DType::kF32 : dtype;
}

std::vector<SymInt> DimsOf(Type type) {
  return std::vector<SymInt>(type.dims().begin(), type.dims().end());
}

Value* Convert(NodeMaker& b, Value* v, DType dtype) {
  if (v == nullptr || v->type().dtype() == dtype) return v;
  return BuildConvert(b, v, dtype);
}

Value* Reshape(NodeMaker& b, Value* v, absl::Span<const SymInt> size) {
  if (v == nullptr || v->type().dims() == size) return v;
  return BuildReshape(b, v, size);
}

Value* Expand(NodeMaker& b, Value* v, absl::Span<const SymInt> size) {
  if (v == nullptr || v->type().dims() == size) return v;
  return BuildExpand(b, v, size);
}

Value* Permute(NodeMaker& b, Value* v, absl::Span<const int64_t> dims) {
  if (v == nullptr) return v;
  bool moves = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    moves = moves || dims[i] != static_cast<int64_t>(i);
  }
  return moves ? BuildPermute(b, v, dims) : v;
}

Value* Transpose(NodeMaker& b, Value* v) {
  if (v == nullptr) return v;
  std::vector<int64_t> dims(v->type().rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
  return Permute(b, v, dims);
}

Value* Slice(NodeMaker& b, Value* v, int64_t dim, SymInt start, SymInt end, SymInt step) {
  return v == nullptr ? v : BuildSlice(b, v, dim, start, end, step);
}

Value* Reduce(NodeMaker& b, const OpDef& op, Value* v, absl::Span<const int64_t> dims) {
  // No dims would mean all of them.
  return dims.empty() ? v : BuildDimsReduction(b, op, v, dims, /*keepdim=*/true);
}

Value* WithScalar(Builder& b, const OpDef& op, Value* v, double scalar) {
  if (v == nullptr) return v;
  return b.Op(op, {v, b.Scalar(v->type().dtype(), scalar)});
}

}  // namespace weft::ops
