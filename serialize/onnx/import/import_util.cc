#include "serialize/onnx/import/import_util.h"

#include <algorithm>

#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"

namespace weft::onnx_import {

std::vector<SymInt> Dims(const Value* v) {
  if (v == nullptr) return {};
  return {v->type().dims().begin(), v->type().dims().end()};
}

Value* Unsqueeze(NodeContext& c, Value* v, absl::Span<const int64_t> dims) {
  if (v == nullptr) return nullptr;
  std::vector<SymInt> size = Dims(v);
  for (int64_t dim : dims) size.insert(size.begin() + dim, SymInt(1));
  return Reshape(c, v, size);
}

Value* AsScalar(NodeContext& c, Value* v) { return Reshape(c, v, {}); }

Value* AlongDim(NodeContext& c, Value* v, int dim, int rank) {
  if (v == nullptr) return nullptr;
  std::vector<SymInt> size(rank, SymInt(1));
  size[dim] = v->type().numel();
  return Reshape(c, v, size);
}

Value* RepeatHeads(NodeContext& c, Value* v, SymInt heads) {
  if (v == nullptr) return nullptr;
  const Type t = v->type();
  if (t.dim(1) == heads) return v;
  const SymInt n = FloorDiv(heads, t.dim(1));
  v = Reshape(c, v, {t.dim(0), t.dim(1), SymInt(1), t.dim(2), t.dim(3)});
  v = Expand(c, v, {t.dim(0), t.dim(1), n, t.dim(2), t.dim(3)});
  return Reshape(c, v, {t.dim(0), heads, t.dim(2), t.dim(3)});
}

Value* WithScalar(NodeContext& c, const OpDef& op, Value* v, double scalar) {
  return v == nullptr ? nullptr : c.Op(op, {v, ScalarLike(c, v, scalar)});
}

Value* ScalarOf(NodeContext& c, DType dtype, double value) { return c.b().Scalar(dtype, value); }

Value* ScalarLike(NodeContext& c, const Value* like, double value) {
  return c.b().Scalar(TypeOf(like).dtype(), value);
}

Value* SymTensor(NodeContext& c, absl::Span<const SymInt> values, absl::Span<const int64_t> dims,
                 DType dtype) {
  if (auto constants = AllConstant(values)) {
    return c.b().Constant(HostTensor::FromInts(dtype, dims, *constants));
  }
  return ops::BuildSymConstant(c, values, dims, dtype);
}

Value* Iota(NodeContext& c, SymInt n, DType dtype) { return ops::BuildArange(c, 0, n, 1, dtype); }

std::vector<SymInt> BroadcastDims(absl::Span<const SymInt> a, absl::Span<const SymInt> b) {
  if (a.size() < b.size()) return BroadcastDims(b, a);
  std::vector<SymInt> dims(a.begin(), a.end());
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    dims[shift + i] = BroadcastSize(dims[shift + i], b[i]);
  }
  return dims;
}

std::vector<int64_t> OtherDims(int rank, absl::Span<const int64_t> dims) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) {
      others.push_back(i);
    }
  }
  return others;
}

std::vector<int64_t> MoveDim(int rank, int from, int to) {
  std::vector<int64_t> perm = OtherDims(rank, {from});
  perm.insert(perm.begin() + to, from);
  return perm;
}

Value* UnpackBits(NodeContext& c, Value* v, int64_t bits) {
  if (bits == 8 || v == nullptr) return v;
  const Type t = v->type();
  std::vector<int64_t> shifts;
  for (int64_t shift = 0; shift < 8; shift += bits) shifts.push_back(shift);
  const int64_t n = static_cast<int64_t>(shifts.size());
  Value* by = c.b().Constant(HostTensor::FromInts(t.dtype(), {n}, shifts));
  v = c.Op(ops::bitwise_right_shift, {Unsqueeze(c, v, {2}), by});
  v = WithScalar(c, ops::bitwise_and, v, static_cast<double>((1 << bits) - 1));
  return Reshape(c, v, {t.dim(0), t.dim(1) * n});
}

}  // namespace weft::onnx_import
