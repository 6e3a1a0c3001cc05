// Exponentials of matrices.
#include <cmath>

#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) { return CheckSquare(args, 0); }

Matrix Product(const Matrix& a, const Matrix& b) {
  Matrix y(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t j = 0; j < b.columns; ++j) y(i, j) += a(i, k) * b(k, j);
    }
  }
  return y;
}

// The series of a / 2^s, whose row sums are at most 1/2, squared s times.
Matrix Exponential(Matrix a) {
  double norm = 0;
  for (int64_t i = 0; i < a.rows; ++i) {
    double row = 0;
    for (int64_t j = 0; j < a.columns; ++j) row += std::abs(a(i, j));
    norm = std::fmax(norm, row);
  }
  int squarings = 0;
  if (std::isfinite(norm) && norm > 0.5) squarings = std::ilogb(norm) + 2;
  for (double& v : a.values) v = std::ldexp(v, -squarings);
  constexpr int kTerms = 18;
  Matrix y = Matrix::Identity(a.rows);
  Matrix term = y;
  for (int k = 1; k <= kTerms; ++k) {
    term = Product(term, a);
    for (size_t i = 0; i < y.values.size(); ++i) {
      term.values[i] /= k;
      y.values[i] += term.values[i];
    }
  }
  for (int s = 0; s < squarings; ++s) y = Product(y, y);
  return y;
}

absl::Status Eval(EvalContext& c) {
  Gathered results;
  for (Matrix& a : ReadMatrices(c.in(0))) results.Add(Exponential(std::move(a)));
  results.WriteTo(&c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(matrix_exp,
               OpSpec("matrix_exp(Tensor self) -> Tensor",
                      "The sum of A^k / k! for each square matrix A in the last two dims. "
                      "ATen: aten::linalg_matrix_exp.")
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Eval(Eval)
                   .Map(Absent{"an element depends on a whole matrix"})
                   .Flops(Absent{"it goes on until the result is exact enough"})
                   .Samples(R"(
matrix_exp(f32[3, 3])
matrix_exp(f64[2, 2, 2]{-9..9})
matrix_exp(f32[2, 0, 0])
matrix_exp(f32[2, 3]) ! "not square"
matrix_exp(f32[3]) ! "at least rank 2"
matrix_exp(i32[2, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
