// Dense matmuls in the wide domain, which evaluate matmul, convolution and related ops.
//
// Every element of a result is summed over k in ascending order, for any number of threads.
// Integers are computed in uint64_t, where overflow wraps.
#ifndef WEFT_GRAPH_OPS_NN_PRODUCT_H_
#define WEFT_GRAPH_OPS_NN_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/ops/support/eval.h"

namespace weft {
struct FlopsArgs;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// A part of a right matrix: rows [row, row + rows), columns likewise.
struct Panel {
  int64_t row, rows;
  int64_t col, cols;
  // Distance in elements between the rows of the destination.
  int64_t stride;
};

// `count` matmuls of an m x k and a k x n matrix. T is double or uint64_t.
template <typename T>
struct Products {
  int64_t count, m, n, k;
  // The left matrix of matmul i, row-major.
  absl::FunctionRef<const T*(int64_t i)> left;
  // Writes a part of the right matrix of matmul i.
  absl::FunctionRef<void(int64_t i, const Panel& panel, T* to)> right;
};

// The results, row-major, one after the other.
template <typename T>
std::vector<T> Multiply(const Products<T>& products);
extern template std::vector<double> Multiply(const Products<double>&);
extern template std::vector<uint64_t> Multiply(const Products<uint64_t>&);

// Writes a part of a row-major matrix with `n` columns.
template <typename T>
void CopyPanel(const T* from, int64_t n, const Panel& p, T* to) {
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* row = from + (p.row + r) * n + p.col;
    std::copy(row, row + p.cols, to + r * p.stride);
  }
}
// The same for the transpose of a row-major matrix with `k` columns.
template <typename T>
void CopyTransposedPanel(const T* from, int64_t k, const Panel& p, T* to) {
  for (int64_t c = 0; c < p.cols; ++c) {
    const T* row = from + (p.col + c) * k + p.row;
    for (int64_t r = 0; r < p.rows; ++r) to[r * p.stride + c] = row[r];
  }
}

// Calls `fn` with a zero of the type in which matmuls of `dtype` are computed.
template <typename Fn>
absl::Status VisitProductDomain(DType dtype, Fn fn) {
  if (IsFloat(dtype)) return fn(double{});
  if (IsInt(dtype)) return fn(uint64_t{});
  return NoDomain(dtype);
}

// Checks that operand i has a dtype that accumulators may have: a float or an integer of 32 or 64
// bits.
absl::Status CheckAccumulator(const OpArgs& args, int i);

// The type of matmul's result from those of operands 0 and 1, in operand 0's dtype.
absl::StatusOr<Types> InferMatmul(const OpArgs& args);
SymInt FlopsOfMatmul(const FlopsArgs& args);

// The ranks and attributes of a convolution, and the type of its result from those of operands 0, 1
// and, if there is one, a bias as operand 2; in operand 0's dtype.
absl::Status VerifyConvolution(const OpArgs& args);
absl::StatusOr<Types> InferConvolution(const OpArgs& args);
SymInt FlopsOfConvolution(const FlopsArgs& args);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_NN_PRODUCT_H_
