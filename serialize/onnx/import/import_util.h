// Small subgraphs that import functions share, beyond those of graph/ops/support/build.h. All
// functions accept null values (after an error) and then return null.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_UTIL_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_UTIL_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/ops/support/build.h"
#include "serialize/onnx/import/import_context.h"

namespace weft {
class OpDef;
class Value;
}  // namespace weft

namespace weft::onnx_import {

using ops::Convert;
using ops::Expand;
using ops::Permute;
using ops::Reshape;
using ops::Slice;

// A copy of the dims; empty for null.
std::vector<SymInt> Dims(const Value* v);

// New dims of size 1 before `dims` of the result (ascending).
Value* Unsqueeze(NodeContext& c, Value* v, absl::Span<const int64_t> dims);
// The single element of a one-element tensor, as rank 0.
Value* AsScalar(NodeContext& c, Value* v);
// A vector along `dim` of a tensor of `rank` dims, reshaped to 1 x ... x n x ... x 1.
Value* AlongDim(NodeContext& c, Value* v, int dim, int rank);

// Repeats heads, in dim 1 of a tensor of rank 4, so that there are `heads` of them.
Value* RepeatHeads(NodeContext& c, Value* v, SymInt heads);

// op(v, scalar), with the scalar in v's dtype.
Value* WithScalar(NodeContext& c, const OpDef& op, Value* v, double scalar);

// Rank-0 constants.
Value* ScalarOf(NodeContext& c, DType dtype, double value);
Value* ScalarLike(NodeContext& c, const Value* like, double value);
// A tensor of symbolic integers with static dims (rank 0: one value).
Value* SymTensor(NodeContext& c, absl::Span<const SymInt> values, absl::Span<const int64_t> dims,
                 DType dtype = DType::kI64);
// 0, 1, ..., n - 1.
Value* Iota(NodeContext& c, SymInt n, DType dtype = DType::kI64);

// The dims of the broadcast.
std::vector<SymInt> BroadcastDims(absl::Span<const SymInt> a, absl::Span<const SymInt> b);

// [0, 1, ..., rank - 1] without `dims` (ascending).
std::vector<int64_t> OtherDims(int rank, absl::Span<const int64_t> dims);

// u8[rows, bytes] to u8[rows, bytes * 8 / bits], `bits` 2, 4 or 8; low bits come first.
Value* UnpackBits(NodeContext& c, Value* v, int64_t bits);

// A permutation that moves dim `from` to place `to`.
std::vector<int64_t> MoveDim(int rank, int from, int to);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_UTIL_H_
