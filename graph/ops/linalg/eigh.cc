// Eigenvalues and eigenvectors of symmetric matrices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) { return CheckSquare(args, 0); }

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  return Types{self.WithDims(BatchDims(self, {RowsOf(self)})), self};
}

// The rotation of rows and columns p and q that makes a(p, q) zero, also of the
// columns of v.
void Rotate(Matrix* a, Matrix* v, int64_t p, int64_t q) {
  const double off = (*a)(p, q);
  if (off == 0) return;
  const double theta = ((*a)(q, q) - (*a)(p, p)) / (2 * off);
  const double t = std::copysign(1, theta) / (std::abs(theta) + std::hypot(theta, 1));
  const double c = 1 / std::hypot(t, 1);
  const double s = t * c;
  const int64_t n = a->rows;
  const auto rotate = [c, s](double* x, double* y) {
    const double was = *x;
    *x = c * was - s * *y;
    *y = s * was + c * *y;
  };
  for (int64_t k = 0; k < n; ++k) rotate(&(*a)(k, p), &(*a)(k, q));
  for (int64_t k = 0; k < n; ++k) rotate(&(*a)(p, k), &(*a)(q, k));
  for (int64_t k = 0; k < n; ++k) rotate(&(*v)(k, p), &(*v)(k, q));
}

// Jacobi's method, row by row, until the off-diagonal elements vanish.
void Diagonalize(Matrix* a, Matrix* v) {
  constexpr int kMostSweeps = 60;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0;
    double on = 0;
    for (int64_t p = 0; p < a->rows; ++p) {
      on += (*a)(p, p) * (*a)(p, p);
      for (int64_t q = p + 1; q < a->rows; ++q) off += (*a)(p, q) * (*a)(p, q);
    }
    if (!(off > 1e-34 * on)) return;
    for (int64_t p = 0; p < a->rows; ++p) {
      for (int64_t q = p + 1; q < a->rows; ++q) Rotate(a, v, p, q);
    }
  }
}

Matrix Symmetric(const Matrix& a, bool upper) {
  Matrix s = a;
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      s(i, j) = s(j, i) = upper ? a(j, i) : a(i, j);
    }
  }
  return s;
}

absl::Status Eval(EvalContext& c) {
  Gathered values, vectors;
  for (const Matrix& m : ReadMatrices(c.in(0))) {
    Matrix a = Symmetric(m, c.attrs().Bool("upper"));
    Matrix v = Matrix::Identity(a.rows);
    Diagonalize(&a, &v);
    std::vector<int64_t> order(a.rows);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t i, int64_t j) { return a(i, i) < a(j, j); });
    std::vector<double> w;
    Matrix sorted(a.rows, a.rows);
    for (int64_t j = 0; j < a.rows; ++j) {
      w.push_back(a(order[j], order[j]));
      for (int64_t i = 0; i < a.rows; ++i) sorted(i, j) = v(i, order[j]);
    }
    values.Add(w);
    vectors.Add(sorted);
  }
  values.WriteTo(&c.out(0));
  vectors.WriteTo(&c.out(1));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(eigh, OpSpec("eigh(Tensor self, bool upper=False) -> (Tensor values, Tensor "
                            "vectors)",
                            "Eigenvalues, ascending, and orthonormal eigenvectors, the columns, "
                            "of each symmetric matrix in the last two dims, of which one "
                            "triangle is read. The signs of the vectors are no part of the "
                            "meaning. ATen: aten::_linalg_eigh.")
                         .Verify(Verify)
                         .Infer(Infer)
                         .Eval(Eval)
                         .Map(Absent{"an element depends on a whole matrix"})
                         .Flops(Absent{"it goes on until the result is exact enough"})
                         .Samples(R"(
eigh(f32[3, 3])
eigh(f64[2, 4, 4], upper=true)
eigh(f32[2, 2]{0..0})
eigh(f32[2, 0, 0])
eigh(f32[2, 3]) ! "not square"
eigh(f32[3]) ! "at least rank 2"
eigh(i32[2, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
