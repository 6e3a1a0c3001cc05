// Small subgraphs that import functions share, beyond those of graph/ops/support/build.h. All
// functions accept null values (after an error) and then return null.
#ifndef WEFT_SERIALIZE_PT2_BUILD_H_
#define WEFT_SERIALIZE_PT2_BUILD_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/ops/support/build.h"
#include "serialize/pt2/aten_call.h"

namespace weft {
class OpDef;
class Value;
}  // namespace weft

namespace weft::pt2 {

using SymInts = std::vector<SymInt>;
using Ints = std::vector<int64_t>;
using ops::Expand;
using ops::Permute;
using ops::Reshape;
using ops::Slice;

SymInts DimsOf(const Value* v);
// The size; 1 for a dim that `v` does not have.
SymInt DimOf(const Value* v, int64_t dim);
int RankOf(const Value* v);
DType DTypeOf(const Value* v);

// PyTorch's `to`: wraps, never saturates.
Value* Convert(AtenCall& c, Value* v, DType dtype);
// Adds a dim of size 1 before dim `dim` (which may be the rank).
Value* Unsqueeze(AtenCall& c, Value* v, int dim);
// Removes a dim of size 1.
Value* Squeeze(AtenCall& c, Value* v, int dim);
// Element `index` along `dim`, which is removed.
Value* Select(AtenCall& c, Value* v, int dim, SymInt index);
Value* Cat(AtenCall& c, std::vector<Value*> values, int64_t dim);
// A vector along `dim` of a tensor of `rank` dims.
Value* AlongDim(AtenCall& c, Value* v, int dim, int rank);
// Joins dims first..last (inclusive).
Value* Flatten(AtenCall& c, Value* v, int first, int last);

Value* Number(AtenCall& c, DType dtype, double value);
Value* NumberLike(AtenCall& c, const Value* like, double value);
// A tensor filled with one value.
Value* Full(AtenCall& c, absl::Span<const SymInt> size, Value* scalar);
Value* Zeros(AtenCall& c, absl::Span<const SymInt> size, DType dtype);
// Symbolic integers as a tensor.
Value* SymTensor(AtenCall& c, absl::Span<const SymInt> values, absl::Span<const int64_t> dims,
                 DType dtype = DType::kI64);
Value* SymScalar(AtenCall& c, SymInt value, DType dtype);
Value* Iota(AtenCall& c, SymInt n, DType dtype = DType::kI64);

// Reduces over `dims`; returns `v` itself if `dims` is empty and the rank is not 0.
Value* Reduce(AtenCall& c, const OpDef& op, Value* v, absl::Span<const int64_t> dims, bool keepdim);

// Pointwise ops; both operands must have one dtype.
Value* Add(AtenCall& c, Value* a, Value* b);
Value* Sub(AtenCall& c, Value* a, Value* b);
Value* Mul(AtenCall& c, Value* a, Value* b);
Value* Div(AtenCall& c, Value* a, Value* b);
Value* Add(AtenCall& c, Value* a, double b);
Value* Sub(AtenCall& c, Value* a, double b);
Value* Mul(AtenCall& c, Value* a, double b);
Value* Div(AtenCall& c, Value* a, double b);
Value* Where(AtenCall& c, Value* condition, Value* a, Value* b);

// f32 for narrower floats: the dtype in which PyTorch computes such an op.
DType Wide(DType dtype);
// The real dtype of a complex one, and the reverse.
DType RealDType(DType dtype);
DType ComplexDType(DType dtype);

SymInts BroadcastDims(absl::Span<const SymInt> a, absl::Span<const SymInt> b);
// [0, 1, ..., rank - 1] without `dims`.
Ints OtherDims(int rank, absl::Span<const int64_t> dims);
// A permutation that moves dim `from` to position `to`.
Ints MoveDim(int rank, int from, int to);
Ints Inverse(absl::Span<const int64_t> perm);
Ints AllDims(int rank);

// Replaces one -1 by the remaining size of `numel`.
SymInts ResolveSize(AtenCall& c, SymInt numel, SymInts size);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_BUILD_H_
