// Singular values and vectors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) { return CheckMatrices(args, 0); }

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const SymInt m = RowsOf(self);
  const SymInt n = ColumnsOf(self);
  const SymInt k = KnownMin(*args.symbols, m, n);
  const bool full = args.attrs().Bool("full_matrices");
  return Types{self.WithDims(BatchDims(self, {m, full ? m : k})),
               self.WithDims(BatchDims(self, {k})),
               self.WithDims(BatchDims(self, {full ? n : k, n}))};
}

double ColumnDot(const Matrix& a, int64_t p, int64_t q) {
  double dot = 0;
  for (int64_t i = 0; i < a.rows; ++i) dot += a(i, p) * a(i, q);
  return dot;
}

void RotateColumns(Matrix* a, int64_t p, int64_t q, double c, double s) {
  for (int64_t i = 0; i < a->rows; ++i) {
    const double was = (*a)(i, p);
    (*a)(i, p) = c * was - s * (*a)(i, q);
    (*a)(i, q) = s * was + c * (*a)(i, q);
  }
}

// Hestenes' method: rotates columns until all are orthogonal; `v` accumulates the rotations.
void Orthogonalize(Matrix* a, Matrix* v) {
  constexpr int kMostSweeps = 60;
  bool changed = true;
  for (int sweep = 0; sweep < kMostSweeps && changed; ++sweep) {
    changed = false;
    for (int64_t p = 0; p < a->columns; ++p) {
      for (int64_t q = p + 1; q < a->columns; ++q) {
        const double alpha = ColumnDot(*a, p, p);
        const double beta = ColumnDot(*a, q, q);
        const double gamma = ColumnDot(*a, p, q);
        if (!(std::abs(gamma) > 1e-15 * std::sqrt(alpha * beta))) continue;
        changed = true;
        const double zeta = (beta - alpha) / (2 * gamma);
        const double t = std::copysign(1, zeta) / (std::abs(zeta) + std::hypot(zeta, 1));
        const double c = 1 / std::hypot(t, 1);
        RotateColumns(a, p, q, c, c * t);
        RotateColumns(v, p, q, c, c * t);
      }
    }
  }
}

// Fills columns `from` on with unit vectors orthogonal to all before them, each made from the axis
// that is farthest from their span.
void Complete(Matrix* u, int64_t from) {
  for (int64_t k = from; k < u->columns; ++k) {
    std::vector<double> best;
    double most = -1;
    for (int64_t axis = 0; axis < u->rows; ++axis) {
      std::vector<double> x(u->rows);
      x[axis] = 1;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t j = 0; j < k; ++j) {
          double dot = 0;
          for (int64_t i = 0; i < u->rows; ++i) dot += (*u)(i, j) * x[i];
          for (int64_t i = 0; i < u->rows; ++i) x[i] -= dot * (*u)(i, j);
        }
      }
      const double norm = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
      if (norm <= most) continue;
      most = norm;
      best = x;
      if (norm > 0.7) break;
    }
    for (int64_t i = 0; i < u->rows; ++i) (*u)(i, k) = best[i] / most;
  }
}

struct Factors {
  Matrix u, v;  // v's columns are the right vectors.
  std::vector<double> s;
};

// Decomposes a matrix with at least as many rows as columns. `u` has `left` columns.
Factors Decomposed(Matrix a, int64_t left) {
  Matrix v = Matrix::Identity(a.columns);
  Orthogonalize(&a, &v);
  std::vector<double> norms(a.columns);
  for (int64_t j = 0; j < a.columns; ++j) {
    norms[j] = std::sqrt(ColumnDot(a, j, j));
  }
  std::vector<int64_t> order(a.columns);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return norms[i] > norms[j]; });
  Factors f{Matrix(a.rows, left), Matrix(a.columns, a.columns), {}};
  int64_t rank = 0;
  for (int64_t j = 0; j < a.columns; ++j) {
    const double norm = norms[order[j]];
    f.s.push_back(norm);
    for (int64_t i = 0; i < a.columns; ++i) f.v(i, j) = v(i, order[j]);
    // A column that consists of rounding errors has no direction.
    if (!(norm > 1e-14 * f.s[0])) continue;
    rank = j + 1;
    for (int64_t i = 0; i < a.rows; ++i) f.u(i, j) = a(i, order[j]) / norm;
  }
  Complete(&f.u, rank);
  return f;
}

absl::Status Eval(EvalContext& c) {
  Gathered us, ss, vhs;
  const bool full = c.attrs().Bool("full_matrices");
  for (const Matrix& a : ReadMatrices(c.in(0))) {
    const bool wide = a.columns > a.rows;
    const int64_t most = std::max(a.rows, a.columns);
    const int64_t least = std::min(a.rows, a.columns);
    Factors f = Decomposed(wide ? a.Transposed() : a, full ? most : least);
    us.Add(wide ? f.v : f.u);
    ss.Add(f.s);
    vhs.Add((wide ? f.u : f.v).Transposed());
  }
  us.WriteTo(&c.out(0));
  ss.WriteTo(&c.out(1));
  vhs.WriteTo(&c.out(2));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(svd, OpSpec("svd(Tensor self, bool full_matrices=False) -> (Tensor u, Tensor s, "
                           "Tensor vh)",
                           "u diag(s) vh = self for each m x n matrix in the last two dims: u "
                           "and vh^T with orthonormal columns, min(m, n) of them or as many as "
                           "rows, and s descending. The signs of the vectors are no part of the "
                           "meaning. ATen: aten::_linalg_svd.")
                        .Verify(Verify)
                        .Infer(Infer)
                        .Eval(Eval)
                        .Map(Absent{"an element depends on a whole matrix"})
                        .Flops(Absent{"it goes on until the result is exact enough"})
                        .Samples(R"(
svd(f32[3, 3])
svd(f64[2, 4, 2])
svd(f32[2, 4], full_matrices=true)
svd(f32[4, 2]{1..1}, full_matrices=true)
svd(f32[2, 3]{0..0})
svd(f32[2, 0, 2])
svd(f32[3]) ! "at least rank 2"
svd(i32[2, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
