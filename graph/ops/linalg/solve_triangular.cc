// Systems with triangular matrices.
#include "graph/ir/op_flops.h"
#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSquare(args, 0));
  WEFT_RETURN_IF_ERROR(CheckMatrices(args, 1));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, args.type(0).rank()));
  for (int i = 0; i + 1 < args.type(0).rank(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(0).dim(i), args.type(1).dim(i),
                                         "the sizes of self and other"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) { return Types{args.type(1)}; }

void Solve(const Matrix& a, bool upper, bool unit, Matrix* x) {
  const int64_t n = a.rows;
  for (int64_t j = 0; j < x->columns; ++j) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = upper ? n - 1 - step : step;
      const int64_t begin = upper ? i + 1 : 0;
      const int64_t end = upper ? n : i;
      for (int64_t k = begin; k < end; ++k) (*x)(i, j) -= a(i, k) * (*x)(k, j);
      if (!unit) (*x)(i, j) /= a(i, i);
    }
  }
}

absl::Status Eval(EvalContext& c) {
  const bool upper = c.attrs().Bool("upper");
  const bool unit = c.attrs().Bool("unitriangular");
  const std::vector<Matrix> a = ReadMatrices(c.in(0));
  std::vector<Matrix> x = ReadMatrices(c.in(1));
  Gathered solutions;
  for (size_t i = 0; i < a.size(); ++i) {
    Solve(a[i], upper, unit, &x[i]);
    solutions.Add(x[i]);
  }
  solutions.WriteTo(&c.out(0));
  return absl::OkStatus();
}

// One triangle for each column of the right side.
SymInt Flops(const FlopsArgs& args) {
  return args.operand_size(1) * args.operands[0].dims().back();
}

}  // namespace

WEFT_DEFINE_OP(solve_triangular,
               OpSpec("solve_triangular(Tensor self, Tensor other, bool upper, bool "
                      "unitriangular=False) -> Tensor",
                      "x with self x = other, where one triangle of self is read, with "
                      "ones on its diagonal if `unitriangular`. A zero on the diagonal "
                      "gives infinities and NaN. ATen: aten::linalg_solve_triangular.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"an element depends on a whole matrix"})
                   .Flops(Flops)
                   .Samples(R"(
solve_triangular(f32[3, 3]{1..2}, f32[3, 2], upper=true)
solve_triangular(f64[2, 2, 2]{1..2}, f64[2, 2, 1], upper=false)
solve_triangular(f32[2, 2], f32[2, 2], upper=false, unitriangular=true)
solve_triangular(f32[0, 0], f32[0, 2], upper=true)
solve_triangular(f32[2, 2], f32[3, 2], upper=true) ! "the sizes of self and other: 2 and 3 differ"
solve_triangular(f32[2, 2], f64[2, 2], upper=true) ! "different dtypes"
solve_triangular(f32[2, 3], f32[2, 2], upper=true) ! "not square"
)"));

}  // namespace weft::ops
