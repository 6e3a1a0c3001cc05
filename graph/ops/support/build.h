// Short forms of the generated builders, for Decompose functions and importers. They make no node
// if the result would equal an operand.
//
// As in Builder::Op, each returns null after an error, and accepts null.
#ifndef WEFT_GRAPH_OPS_SUPPORT_BUILD_H_
#define WEFT_GRAPH_OPS_SUPPORT_BUILD_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/tensor/type.h"

namespace weft {
class Builder;
class NodeMaker;
class OpDef;
class Value;
}  // namespace weft

namespace weft::ops {

// The dtype in which low-precision floats are computed: f32 for f8*, f16 and bf16, else the dtype
// itself.
DType ComputeDType(DType dtype);

// A copy of the dims.
std::vector<SymInt> DimsOf(Type type);

// `v` itself if it already has the dtype, or the dims.
Value* Convert(NodeMaker& b, Value* v, DType dtype);
Value* Reshape(NodeMaker& b, Value* v, absl::Span<const SymInt> size);
Value* Expand(NodeMaker& b, Value* v, absl::Span<const SymInt> size);
// `v` itself if the order of dims does not change.
Value* Permute(NodeMaker& b, Value* v, absl::Span<const int64_t> dims);
// Swaps the last two dims.
Value* Transpose(NodeMaker& b, Value* v);
Value* Slice(NodeMaker& b, Value* v, int64_t dim, SymInt start, SymInt end, SymInt step = 1);

// A reduction over `dims` with keepdim; `v` itself if `dims` is empty.
Value* Reduce(NodeMaker& b, const OpDef& op, Value* v, absl::Span<const int64_t> dims);

// op(v, scalar), with the scalar in v's dtype.
Value* WithScalar(Builder& b, const OpDef& op, Value* v, double scalar);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_BUILD_H_
