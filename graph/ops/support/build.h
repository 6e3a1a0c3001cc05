// Short forms for Decompose functions.
//
// As Builder::Op, each returns null after an error, and takes null then.
#ifndef WEFT_GRAPH_OPS_SUPPORT_BUILD_H_
#define WEFT_GRAPH_OPS_SUPPORT_BUILD_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/tensor/type.h"

namespace weft {
class Builder;
class OpDef;
class Value;
}  // namespace weft

namespace weft::ops {

// What low-precision floats are computed in: f32 for f8*, f16 and bf16, else
// the dtype itself.
DType ComputeDType(DType dtype);

// Dims as a vector, to be changed.
std::vector<SymInt> DimsOf(Type type);

// `v` itself when it has the dtype, or the dims, already.
Value* Convert(Builder& b, Value* v, DType dtype);
Value* Reshape(Builder& b, Value* v, std::vector<SymInt> size);
Value* Expand(Builder& b, Value* v, std::vector<SymInt> size);
Value* Permute(Builder& b, Value* v, std::vector<int64_t> dims);
// The last two dims swapped.
Value* Transpose(Builder& b, Value* v);
Value* Slice(Builder& b, Value* v, int64_t dim, SymInt start, SymInt end, SymInt step = 1);

// A reduction over `dims` that keeps them.
Value* Reduce(Builder& b, const OpDef& op, Value* v, std::vector<int64_t> dims);

// op(v, scalar), with the scalar in v's dtype.
Value* WithScalar(Builder& b, const OpDef& op, Value* v, double scalar);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_BUILD_H_
