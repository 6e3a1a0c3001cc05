// Determinants.
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  const auto dims = args.type(0).dims();
  return CheckEqualSizes(args, dims[dims.size() - 2], dims.back(),
                         "the matrices of self are not square");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const auto dims = args.type(0).dims();
  return Types{args.type(0).WithDims(dims.subspan(0, dims.size() - 2))};
}

// Gaussian elimination with partial pivoting; overwrites the n x n matrix.
double Determinant(double* a, int64_t n) {
  double det = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      det = -det;
    }
    det *= a[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double f = a[i * n + k] / a[k * n + k];
      for (int64_t j = k; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
    }
  }
  return det;
}

absl::Status Eval(EvalContext& c) {
  std::vector<double> x = Read<double>(c.in(0));
  const int64_t n = c.in(0).dims().back();
  std::vector<double> dets(c.out(0).numel());
  for (size_t i = 0; i < dets.size(); ++i) {
    dets[i] = Determinant(x.data() + i * n * n, n);
  }
  Write(dets, &c.out(0));
  return absl::OkStatus();
}

// Elimination.
SymInt Flops(const FlopsArgs& args) {
  return FloorDiv(2 * args.operand_size() * args.operands[0].dims().back(), 3);
}

}  // namespace

WEFT_DEFINE_OP(det, OpSpec("det(Tensor self) -> Tensor",
                           "Determinant of each square matrix in the last two dims. ATen: "
                           "aten::linalg_det; ONNX: Det-11.")
                        .Verify(Verify)
                        .Infer(Infer)
                        .Eval(Eval)
                        .Map(Absent{"an element depends on a whole matrix"})
                        .Flops(Flops)
                        .Samples(R"(
det(f32[3, 3])
det(f64[2, 4, 4])
det(f32[2, 1, 1, 1])
det(f32[0, 2, 2])
det(f32[2, 0, 0])
det(f32[2, 3]) ! "not square"
det(f32[3]) ! "at least rank 2"
det(i32[2, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
