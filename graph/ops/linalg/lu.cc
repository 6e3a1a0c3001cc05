// LU factors with partial pivoting, and the systems that they solve.
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status VerifyFactor(const OpArgs& args) { return CheckMatrices(args, 0); }

absl::StatusOr<Types> InferFactor(const OpArgs& args) {
  const Type self = args.type(0);
  const SymInt k = KnownMin(*args.symbols, RowsOf(self), ColumnsOf(self));
  return Types{self, Type::Tensor(DType::kI32, BatchDims(self, {k})),
               Type::Tensor(DType::kI32, BatchDims(self))};
}

void SwapRows(Matrix* a, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t k = 0; k < a->columns; ++k) std::swap((*a)(i, k), (*a)(j, k));
}

// Factorizes in place; pivots count from 1, as LAPACK's. Returns the first column (from 1) whose
// pivot is 0, or 0.
int64_t Factor(Matrix* a, bool pivot, std::vector<int64_t>* pivots) {
  int64_t info = 0;
  for (int64_t k = 0; k < std::min(a->rows, a->columns); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < a->rows && pivot; ++i) {
      if (std::abs((*a)(i, k)) > std::abs((*a)(best, k))) best = i;
    }
    pivots->push_back(best + 1);
    SwapRows(a, k, best);
    if ((*a)(k, k) == 0) {
      if (info == 0) info = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < a->rows; ++i) {
      const double f = (*a)(i, k) /= (*a)(k, k);
      for (int64_t j = k + 1; j < a->columns; ++j) (*a)(i, j) -= f * (*a)(k, j);
    }
  }
  return info;
}

absl::Status EvalFactor(EvalContext& c) {
  const bool pivot = c.attrs().Bool("pivot");
  Gathered factors;
  std::vector<int64_t> pivots, info;
  for (Matrix& a : ReadMatrices(c.in(0))) {
    info.push_back(Factor(&a, pivot, &pivots));
    factors.Add(a);
  }
  factors.WriteTo(&c.out(0));
  Write(pivots, &c.out(1));
  Write(info, &c.out(2));
  return absl::OkStatus();
}

absl::Status VerifySolve(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSquare(args, 0));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 1, DType::kI32));
  WEFT_RETURN_IF_ERROR(CheckMatrices(args, 2));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 2));
  const Type lu = args.type(0);
  const Type other = args.type(2);
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, lu.rank() - 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 2, lu.rank()));
  for (int i = 0; i + 1 < lu.rank(); ++i) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, lu.dim(i), args.type(1).dim(i), "the sizes of lu and pivots"));
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, lu.dim(i), other.dim(i), "the sizes of lu and other"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> InferSolve(const OpArgs& args) { return Types{args.type(2)}; }

// Solves one system: row exchanges, then two triangular systems.
absl::Status Solve(const Matrix& lu, const int64_t* pivots, Matrix* x) {
  const int64_t n = lu.rows;
  for (int64_t i = 0; i < n; ++i) {
    if (pivots[i] < 1 || pivots[i] > n) {
      return absl::OutOfRangeError(
          absl::StrCat("pivot ", pivots[i], " is out of range for ", n, " rows"));
    }
    SwapRows(x, i, pivots[i] - 1);
  }
  for (int64_t j = 0; j < x->columns; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < i; ++k) (*x)(i, j) -= lu(i, k) * (*x)(k, j);
    }
    for (int64_t i = n; i-- > 0;) {
      for (int64_t k = i + 1; k < n; ++k) (*x)(i, j) -= lu(i, k) * (*x)(k, j);
      (*x)(i, j) /= lu(i, i);
    }
  }
  return absl::OkStatus();
}

absl::Status EvalSolve(EvalContext& c) {
  const std::vector<Matrix> factors = ReadMatrices(c.in(0));
  const std::vector<int64_t> pivots = Read<int64_t>(c.in(1));
  std::vector<Matrix> x = ReadMatrices(c.in(2));
  Gathered solutions;
  for (size_t i = 0; i < factors.size(); ++i) {
    const int64_t* own = pivots.data() + i * factors[i].rows;
    WEFT_RETURN_IF_ERROR(Solve(factors[i], own, &x[i]));
    solutions.Add(x[i]);
  }
  solutions.WriteTo(&c.out(0));
  return absl::OkStatus();
}

// Elimination.
SymInt Flops(const FlopsArgs& args) {
  return FloorDiv(2 * args.operand_size() * args.operands[0].dims().back(), 3);
}

// Both triangles for each column of the right side.
SymInt SolveFlops(const FlopsArgs& args) {
  return 2 * args.operand_size(2) * args.operands[0].dims().back();
}

}  // namespace

WEFT_DEFINE_OP(lu_factor,
               OpSpec("lu_factor(Tensor self, bool pivot=True) -> (Tensor lu, Tensor "
                      "pivots, Tensor info)",
                      "For each matrix in the last two dims a unit lower and an upper "
                      "triangular factor in one matrix, of self with rows exchanged: row i "
                      "with row pivots[i] - 1, one after the other (i32). info (i32) is 0, "
                      "or the first column, from 1, whose pivot is 0. ATen: "
                      "aten::linalg_lu_factor_ex.")
                   .Verify(VerifyFactor)
                   .Infer(InferFactor)
                   .Eval(EvalFactor)
                   .Map(Absent{"an element depends on a whole matrix"})
                   .Flops(Flops)
                   .Samples(R"(
lu_factor(f32[3, 3])
lu_factor(f64[2, 2, 4])
lu_factor(f32[4, 2], pivot=false)
lu_factor(f32[2, 2]{1, 2, 2, 4})
lu_factor(f32[0, 2, 2])
lu_factor(f32[3]) ! "at least rank 2"
lu_factor(i32[2, 2]) ! "a float dtype"
)"));

WEFT_DEFINE_OP(lu_solve,
               OpSpec("lu_solve(Tensor lu, Tensor pivots, Tensor other) -> Tensor",
                      "x with A x = other, for the results of lu_factor of square A. ATen: "
                      "aten::linalg_lu_solve.")
                   .Verify(VerifySolve)
                   .Infer(InferSolve)
                   .Eval(EvalSolve)
                   .Map(Absent{"an element depends on a whole matrix"})
                   .Flops(SolveFlops)
                   .Samples(R"(
lu_solve(f32[3, 3]{2, 1, 0.5, 0.5, 2, 1, 0.25, 0.5, 2}, i32[3]{1, 3, 3}, f32[3, 2])
lu_solve(f64[2, 1, 1]{2, 4}, i32[2, 1]{1, 1}, f64[2, 1, 3])
lu_solve(f32[3, 3], i32[2], f32[3, 2]) ! "the sizes of lu and pivots: 3 and 2 differ"
lu_solve(f32[2, 2], i32[2], f32[3, 2]) ! "the sizes of lu and other: 2 and 3 differ"
lu_solve(f32[2, 2], i64[2], f32[2, 2]) ! "pivots must have dtype i32"
lu_solve(f32[2, 3], i32[2], f32[2, 2]) ! "not square"
)"));

}  // namespace weft::ops
