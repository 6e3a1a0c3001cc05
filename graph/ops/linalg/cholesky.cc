// Cholesky factors.
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) { return CheckSquare(args, 0); }

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0), Type::Tensor(DType::kI32, BatchDims(args.type(0)))};
}

// Reads the lower triangle of `a`; returns the order of the first leading minor that is not
// positive, or 0.
int64_t Factor(const Matrix& a, Matrix* l) {
  for (int64_t j = 0; j < a.rows; ++j) {
    double d = a(j, j);
    for (int64_t k = 0; k < j; ++k) d -= (*l)(j, k) * (*l)(j, k);
    if (!(d > 0)) return j + 1;
    (*l)(j, j) = std::sqrt(d);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      double v = a(i, j);
      for (int64_t k = 0; k < j; ++k) v -= (*l)(i, k) * (*l)(j, k);
      (*l)(i, j) = v / (*l)(j, j);
    }
  }
  return 0;
}

absl::Status Eval(EvalContext& c) {
  const bool upper = c.attrs().Bool("upper");
  Gathered factors;
  std::vector<int64_t> info;
  for (const Matrix& a : ReadMatrices(c.in(0))) {
    Matrix l(a.rows, a.rows);
    info.push_back(Factor(upper ? a.Transposed() : a, &l));
    factors.Add(upper ? l.Transposed() : l);
  }
  factors.WriteTo(&c.out(0));
  Write(info, &c.out(1));
  return absl::OkStatus();
}

// Half of an elimination, as the matrix is symmetric.
SymInt Flops(const FlopsArgs& args) {
  return FloorDiv(args.operand_size() * args.operands[0].dims().back(), 3);
}

}  // namespace

WEFT_DEFINE_OP(cholesky,
               OpSpec("cholesky(Tensor self, bool upper=False) -> (Tensor factor, Tensor "
                      "info)",
                      "The lower triangular L with L L^T = self, for each symmetric matrix "
                      "in the last two dims, of which the lower triangle is read; with "
                      "`upper` L^T, from the upper one. info (i32) is 0, or the order of "
                      "the first leading minor that is not positive; the factor then ends "
                      "there. ATen: aten::linalg_cholesky_ex.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"an element depends on a whole matrix"})
                   .Flops(Flops)
                   .Samples(R"(
cholesky(f32[2, 2]{4, 2, 2, 3})
cholesky(f64[3, 2, 2]{4, 2, 2, 3, 1, 0, 0, 1, 1, 2, 2, 1}, upper=true)
cholesky(f32[0, 2, 2])
cholesky(f32[2, 0, 0])
cholesky(f32[2, 3]) ! "the matrices of self are not square"
cholesky(f32[3]) ! "at least rank 2"
cholesky(i32[2, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
