// Shared by ops of linear algebra: operands whose last two dims are matrices.
#ifndef WEFT_GRAPH_OPS_LINALG_MATRICES_H_
#define WEFT_GRAPH_OPS_LINALG_MATRICES_H_

#include <cstdint>
#include <vector>

#include "graph/ir/op_args.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/tensor/tensor.h"

namespace weft::ops {

// Checks that operand `i` is a float tensor of rank 2 at least; and that its matrices are square.
inline absl::Status CheckMatrices(const OpArgs& args, int i) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, i));
  return CheckRankAtLeast(args, i, 2);
}
inline absl::Status CheckSquare(const OpArgs& args, int i) {
  WEFT_RETURN_IF_ERROR(CheckMatrices(args, i));
  const Type t = args.type(i);
  return CheckEqualSizes(args, t.dim(t.rank() - 2), t.dim(t.rank() - 1),
                         absl::StrCat("the matrices of ", OperandName(args, i), " are not square"));
}

// The dims before the last two, followed by `rest`.
inline std::vector<SymInt> BatchDims(Type t, std::vector<SymInt> rest = {}) {
  std::vector<SymInt> dims(t.dims().begin(), t.dims().end() - 2);
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}
inline SymInt RowsOf(Type t) { return t.dim(t.rank() - 2); }
inline SymInt ColumnsOf(Type t) { return t.dim(t.rank() - 1); }

// A row-major matrix of doubles.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), values(r * c) {}
  double& operator()(int64_t i, int64_t j) { return values[i * columns + j]; }
  double operator()(int64_t i, int64_t j) const { return values[i * columns + j]; }

  static Matrix Identity(int64_t n) {
    Matrix m(n, n);
    for (int64_t i = 0; i < n; ++i) m(i, i) = 1;
    return m;
  }
  Matrix Transposed() const {
    Matrix m(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) m(j, i) = (*this)(i, j);
    }
    return m;
  }
};

// The matrices of an operand.
inline std::vector<Matrix> ReadMatrices(const HostTensor& t) {
  const int64_t rows = t.dim(t.rank() - 2);
  const int64_t columns = t.dim(t.rank() - 1);
  const int64_t count = Numel(t.dims().subspan(0, t.rank() - 2));
  const std::vector<double> x = Read<double>(t);
  std::vector<Matrix> matrices(count, Matrix(rows, columns));
  const int64_t size = rows * columns;
  for (int64_t k = 0; k < count; ++k) {
    std::copy_n(x.begin() + k * size, size, matrices[k].values.begin());
  }
  return matrices;
}

// Collects results, one matrix or vector after the other.
class Gathered {
 public:
  void Add(const Matrix& m) { Add(m.values); }
  void Add(const std::vector<double>& v) { values_.insert(values_.end(), v.begin(), v.end()); }
  void WriteTo(HostTensor* out) const { Write(values_, out); }

 private:
  std::vector<double> values_;
};

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_LINALG_MATRICES_H_
