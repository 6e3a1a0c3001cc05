#include "serialize/pt2/build.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"

namespace weft::pt2 {

SymInts DimsOf(const Value* v) {
  if (v == nullptr) return {};
  return {v->type().dims().begin(), v->type().dims().end()};
}

SymInt DimOf(const Value* v, int64_t dim) {
  const Type type = TypeOf(v);
  if (dim < 0 || dim >= type.rank()) return 1;
  return type.dim(static_cast<int>(dim));
}

int RankOf(const Value* v) { return TypeOf(v).rank(); }

DType DTypeOf(const Value* v) { return TypeOf(v).dtype(); }

Value* Convert(AtenCall& c, Value* v, DType dtype) {
  if (v == nullptr || v->type().dtype() == dtype) return v;
  return ops::BuildConvert(c, v, dtype, /*saturate=*/false);
}

Value* Unsqueeze(AtenCall& c, Value* v, int dim) {
  if (v == nullptr) return nullptr;
  if (dim < 0 || dim > RankOf(v)) return c.Fail("a tensor has too few dims");
  SymInts size = DimsOf(v);
  size.insert(size.begin() + dim, SymInt(1));
  return Reshape(c, v, size);
}

Value* Squeeze(AtenCall& c, Value* v, int dim) {
  if (v == nullptr) return nullptr;
  SymInts size = DimsOf(v);
  if (dim >= static_cast<int>(size.size())) return v;
  size.erase(size.begin() + dim);
  return Reshape(c, v, size);
}

Value* Select(AtenCall& c, Value* v, int dim, SymInt index) {
  return ops::BuildSelect(c, v, dim, index);
}

Value* Cat(AtenCall& c, std::vector<Value*> values, int64_t dim) {
  if (!c.ok()) return nullptr;
  if (values.size() == 1) return values[0];
  return ops::BuildCat(c.b(), values, dim);
}

Value* AlongDim(AtenCall& c, Value* v, int dim, int rank) {
  if (v == nullptr) return nullptr;
  if (dim < 0 || dim >= rank) return c.Fail("a tensor has too few dims");
  SymInts size(rank, SymInt(1));
  size[dim] = v->type().numel();
  return Reshape(c, v, size);
}

Value* Flatten(AtenCall& c, Value* v, int first, int last) {
  if (v == nullptr) return nullptr;
  if (RankOf(v) > 0 && (first < 0 || last >= RankOf(v) || first > last)) {
    return c.Fail("a tensor has too few dims");
  }
  SymInts size = DimsOf(v);
  if (size.empty()) return Reshape(c, v, {SymInt(1)});
  SymInt product = 1;
  for (int i = first; i <= last; ++i) product = product * size[i];
  size.erase(size.begin() + first, size.begin() + last + 1);
  size.insert(size.begin() + first, product);
  return Reshape(c, v, size);
}

Value* Number(AtenCall& c, DType dtype, double value) {
  if (IsComplex(dtype)) return ComplexNumber(c, dtype, value, 0);
  return c.b().Scalar(dtype, value);
}

Value* NumberLike(AtenCall& c, const Value* like, double value) {
  return Number(c, DTypeOf(like), value);
}

Value* Full(AtenCall& c, absl::Span<const SymInt> size, Value* scalar) {
  return Expand(c, scalar, size);
}

Value* Zeros(AtenCall& c, absl::Span<const SymInt> size, DType dtype) {
  return Full(c, size, Number(c, dtype, 0));
}

Value* SymTensor(AtenCall& c, absl::Span<const SymInt> values, absl::Span<const int64_t> dims,
                 DType dtype) {
  if (auto constants = AllConstant(values)) {
    return c.b().Constant(HostTensor::FromInts(dtype, dims, *constants));
  }
  return Convert(c, ops::BuildSymConstant(c, values, dims), dtype);
}

Value* SymScalar(AtenCall& c, SymInt value, DType dtype) { return c.As(Arg::Int(value), dtype); }

Value* Iota(AtenCall& c, SymInt n, DType dtype) {
  return Convert(c, ops::BuildArange(c, 0, n), dtype);
}

Value* Reduce(AtenCall& c, const OpDef& op, Value* v, absl::Span<const int64_t> dims,
              bool keepdim) {
  // An empty list would mean all dims.
  if (dims.empty() && RankOf(v) > 0) return v;
  return ops::BuildDimsReduction(c, op, v, dims, keepdim);
}

Value* Add(AtenCall& c, Value* a, Value* b) {
  if (!IsComplex(DTypeOf(a))) return ops::BuildAdd(c, a, b);
  const ComplexParts x = PartsOf(c, a);
  const ComplexParts y = PartsOf(c, b);
  return JoinParts(c, {Add(c, x.real, y.real), Add(c, x.imag, y.imag)});
}

Value* Sub(AtenCall& c, Value* a, Value* b) {
  if (!IsComplex(DTypeOf(a))) return ops::BuildSub(c, a, b);
  const ComplexParts x = PartsOf(c, a);
  const ComplexParts y = PartsOf(c, b);
  return JoinParts(c, {Sub(c, x.real, y.real), Sub(c, x.imag, y.imag)});
}

Value* Mul(AtenCall& c, Value* a, Value* b) {
  if (!IsComplex(DTypeOf(a))) return ops::BuildMul(c, a, b);
  return JoinParts(c, MulParts(c, PartsOf(c, a), PartsOf(c, b)));
}

Value* Div(AtenCall& c, Value* a, Value* b) {
  if (!IsComplex(DTypeOf(a))) return ops::BuildDiv(c, a, b);
  return JoinParts(c, DivParts(c, PartsOf(c, a), PartsOf(c, b)));
}

Value* Add(AtenCall& c, Value* a, double b) { return Add(c, a, NumberLike(c, a, b)); }
Value* Sub(AtenCall& c, Value* a, double b) { return Sub(c, a, NumberLike(c, a, b)); }
Value* Mul(AtenCall& c, Value* a, double b) { return Mul(c, a, NumberLike(c, a, b)); }
Value* Div(AtenCall& c, Value* a, double b) { return Div(c, a, NumberLike(c, a, b)); }
Value* Where(AtenCall& c, Value* condition, Value* a, Value* b) {
  return ops::BuildWhere(c, condition, a, b);
}

DType Wide(DType dtype) { return IsFloat(dtype) && DTypeBits(dtype) < 32 ? DType::kF32 : dtype; }

DType RealDType(DType dtype) {
  if (dtype == DType::kC32) return DType::kF16;
  if (dtype == DType::kC64) return DType::kF32;
  return dtype == DType::kC128 ? DType::kF64 : dtype;
}

DType ComplexDType(DType dtype) {
  if (dtype == DType::kF16) return DType::kC32;
  return dtype == DType::kF64 ? DType::kC128 : DType::kC64;
}

SymInts BroadcastDims(absl::Span<const SymInt> a, absl::Span<const SymInt> b) {
  if (a.size() < b.size()) return BroadcastDims(b, a);
  SymInts dims(a.begin(), a.end());
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    dims[shift + i] = BroadcastSize(dims[shift + i], b[i]);
  }
  return dims;
}

Ints OtherDims(int rank, absl::Span<const int64_t> dims) {
  Ints others;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) {
      others.push_back(i);
    }
  }
  return others;
}

Ints MoveDim(int rank, int from, int to) {
  Ints perm = OtherDims(rank, {from});
  perm.insert(perm.begin() + to, from);
  return perm;
}

Ints Inverse(absl::Span<const int64_t> perm) {
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[perm[i]] = static_cast<int64_t>(i);
  }
  return inverse;
}

Ints AllDims(int rank) {
  Ints dims;
  for (int i = 0; i < rank; ++i) dims.push_back(i);
  return dims;
}

SymInts ResolveSize(AtenCall& c, SymInt numel, SymInts size) {
  int open = -1;
  SymInt rest = 1;
  for (size_t i = 0; i < size.size(); ++i) {
    if (!size[i].Is(-1)) {
      rest = rest * size[i];
    } else if (open >= 0) {
      c.Fail("the size has two entries of -1");
    } else {
      open = static_cast<int>(i);
    }
  }
  if (open >= 0) size[open] = rest.Is(0) ? SymInt(0) : FloorDiv(numel, rest);
  return size;
}

}  // namespace weft::pt2
