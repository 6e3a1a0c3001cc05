// Systems of linear equations and matrix factorizations.
#include "graph/ops/linalg.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/control.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "serialize/pt2/aten/matrix_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// Two operands expanded to common batch dims.
struct Pair {
  Value* a;
  Value* b;
};

Pair WithBatch(AtenCall& c, Value* a, Value* b) {
  if (RankOf(a) < 2 || RankOf(b) < 2) c.Fail("a matrix has too few dims");
  if (!c.ok()) throw AtenCall::Stop();
  const auto batch = [](const Value* v) {
    SymInts dims = DimsOf(v);
    dims.resize(dims.size() - 2);
    return dims;
  };
  const SymInts dims = BroadcastDims(batch(a), batch(b));
  const auto expanded = [&](Value* v) {
    SymInts size = dims;
    size.insert(size.end(), {RowsOf(v), ColumnsOf(v)});
    return Expand(c, v, size);
  };
  return {expanded(a), expanded(b)};
}

Value* EyeLike(AtenCall& c, const Value* like, SymInt n) {
  SymInts size = DimsOf(like);
  size.resize(size.size() - 2);
  size.insert(size.end(), {n, n});
  return Expand(c, ops::BuildEye(c, n, n, /*k=*/0, DTypeOf(like)), size);
}

// Asserts that `info` is 0 for each matrix, which means success.
void Demand(AtenCall& c, Value* info, absl::string_view what) {
  Value* good = c.Op(ops::eq, {info, NumberLike(c, info, 0)});
  if (RankOf(good) > 0) good = Reduce(c, ops::all, good, AllDims(RankOf(good)), false);
  ops::BuildRuntimeAssert(
      c, good, absl::StrCat(c.schema().name.substr(0, c.schema().name.find('.')), ": ", what));
}

constexpr char kSingular[] = "the matrix is singular";

bool WantsCheck(AtenCall& c) {
  return c.schema().Find("check_errors") < 0 || c.Bool("check_errors");
}

// --- Cholesky ---------------------------------------------------------------------

void Cholesky(AtenCall& c) {
  const auto y = c.Ops(ops::cholesky, {c.T("self")}, {{"upper", c.Bool("upper")}});
  if (WantsCheck(c)) Demand(c, y[1], "the matrix is not positive definite");
  c.Return(y[0]);
  if (c.schema().results.size() > 1) c.Return(y[1]);
}

// Solves with A = L L^T, or U^T U, by two triangular systems.
Value* CholeskySolved(AtenCall& c, Value* factor, Value* b, bool upper) {
  Value* lower = upper ? Transposed(c, factor) : factor;
  Value* y = ops::BuildSolveTriangular(c, lower, b, /*upper=*/false);
  return ops::BuildSolveTriangular(c, Transposed(c, lower), y, /*upper=*/true);
}

void CholeskySolve(AtenCall& c) {
  const Pair p = WithBatch(c, c.T("input2"), c.T("self"));
  c.Return(CholeskySolved(c, p.a, p.b, c.Bool("upper")));
}

void CholeskyInverse(AtenCall& c) {
  Value* factor = c.T("self");
  if (RankOf(factor) < 2) return c.Return(c.Fail("a matrix has too few dims"));
  c.Return(CholeskySolved(c, factor, EyeLike(c, factor, RowsOf(factor)), c.Bool("upper")));
}

// --- LU ---------------------------------------------------------------------------

std::vector<Value*> Factored(AtenCall& c, Value* a, bool pivot = true) {
  if (RankOf(a) < 2) c.Fail("a matrix has too few dims");
  if (!c.ok()) throw AtenCall::Stop();
  return ops::BuildLuFactor(c, a, pivot);
}

void LuFactor(AtenCall& c) {
  const auto lu = Factored(c, c.T("A"), c.Bool("pivot"));
  if (WantsCheck(c)) Demand(c, lu[2], kSingular);
  c.Return(lu[0]);
  c.Return(lu[1]);
  if (c.schema().results.size() > 2) c.Return(lu[2]);
}

// The permutation matrix: the exchanges applied to the identity give its inverse.
Value* PermutationOf(AtenCall& c, Value* lu, Value* pivots) {
  const SymInt m = RowsOf(lu);
  const SymInt k = ColumnsOf(pivots);
  if (!(m == k)) {
    // Rows after the last column stay.
    SymInts size = DimsOf(pivots);
    size.back() = m - k;
    Value* rest = ops::BuildArange(c, k + 1, m + 1, /*step=*/1, DType::kI32);
    pivots = Cat(c, {pivots, Expand(c, rest, size)}, RankOf(pivots) - 1);
  }
  Value* eye = EyeLike(c, lu, m);
  return Transposed(c, c.Op(ops::lu_solve, {eye, pivots, eye}));
}

void ReturnUnpacked(AtenCall& c, Value* lu, Value* pivots) {
  const SymInt m = RowsOf(lu);
  const SymInt n = ColumnsOf(lu);
  const SymInt k = ColumnsOf(pivots);
  const int rank = RankOf(lu);
  Value* l = ops::BuildTril(c, lu, -1);
  if (!(k == n)) l = Slice(c, l, rank - 1, 0, k);
  l = Add(c, l, ops::BuildEye(c, m, k, /*k=*/0, DTypeOf(lu)));
  Value* u = ops::BuildTriu(c, lu, 0);
  if (!(k == m)) u = Slice(c, u, rank - 2, 0, k);
  c.Return(PermutationOf(c, lu, pivots));
  c.Return(l);
  c.Return(u);
}

void Lu(AtenCall& c) {
  const auto lu = Factored(c, c.T("A"), c.Bool("pivot"));
  ReturnUnpacked(c, lu[0], lu[1]);
}

void LuUnpack(AtenCall& c) {
  if (!c.Bool("unpack_data") || !c.Bool("unpack_pivots")) {
    return c.Return(c.Unsupported("only a part is unpacked"));
  }
  ReturnUnpacked(c, c.T("LU_data"), c.T("LU_pivots"));
}

Value* LuSolved(AtenCall& c, Value* lu, Value* pivots, Value* b) {
  const Pair p = WithBatch(c, lu, b);
  SymInts size = DimsOf(p.a);
  size.pop_back();
  return c.Op(ops::lu_solve, {p.a, Expand(c, pivots, size), p.b});
}

void LinalgLuSolve(AtenCall& c) {
  if (!c.Bool("left") || c.Bool("adjoint")) {
    return c.Return(c.Unsupported("other than from the left"));
  }
  c.Return(LuSolved(c, c.T("LU"), c.T("pivots"), c.T("B")));
}

void LuSolve(AtenCall& c) { c.Return(LuSolved(c, c.T("LU_data"), c.T("LU_pivots"), c.T("self"))); }

// --- Systems and inverses ---------------------------------------------------------

// True if B has a vector for each matrix.
bool IsVector(const Value* a, const Value* b) {
  if (RankOf(b) == 1) return true;
  if (RankOf(b) != RankOf(a) - 1) return false;
  SymInts batch = DimsOf(a);
  batch.pop_back();
  return batch == DimsOf(b);
}

struct Solved {
  Value* x;
  std::vector<Value*> lu;
};

Solved Solve(AtenCall& c) {
  Value* a = c.T("A");
  Value* b = c.T("B");
  const bool vector = IsVector(a, b);
  const bool left = c.Bool("left");
  if (vector) b = Unsqueeze(c, b, left ? RankOf(b) : RankOf(b) - 1);
  Solved s;
  s.lu = Factored(c, left ? a : Transposed(c, a));
  Value* x = LuSolved(c, s.lu[0], s.lu[1], left ? b : Transposed(c, b));
  if (!left) x = Transposed(c, x);
  s.x = vector ? Squeeze(c, x, left ? RankOf(x) - 1 : RankOf(x) - 2) : x;
  return s;
}

void LinalgSolve(AtenCall& c) {
  const Solved s = Solve(c);
  if (WantsCheck(c)) Demand(c, s.lu[2], kSingular);
  c.Return(s.x);
  if (c.schema().results.size() == 2) c.Return(s.lu[2]);
  if (c.schema().results.size() == 4) c.Return(s.lu);
}

void Inverse(AtenCall& c) {
  Value* a = MatrixOf(c);
  const auto lu = Factored(c, a);
  if (WantsCheck(c)) Demand(c, lu[2], kSingular);
  c.Return(LuSolved(c, lu[0], lu[1], EyeLike(c, a, RowsOf(a))));
  if (c.schema().results.size() > 1) c.Return(lu[2]);
}

Value* DiagonalOf(AtenCall& c, Value* a) {
  return ops::BuildDiagonal(c, a, /*offset=*/0, RankOf(a) - 2, RankOf(a) - 1);
}

struct LogDet {
  Value* sign;
  Value* log;
  std::vector<Value*> lu;
};

// Each row exchange (pivot i not equal to i) changes the sign.
LogDet LogDetOf(AtenCall& c) {
  Value* a = MatrixOf(c);
  LogDet d;
  d.lu = Factored(c, a);
  Value* diagonal = DiagonalOf(c, d.lu[0]);
  const Ints last = {RankOf(diagonal) - 1};
  Value* places = Convert(c, Add(c, Iota(c, ColumnsOf(d.lu[1])), 1.0), DType::kI32);
  Value* moved = c.Op(ops::ne, {d.lu[1], places});
  Value* odd = Where(c, moved, NumberLike(c, diagonal, -1), NumberLike(c, diagonal, 1));
  d.sign = Reduce(c, ops::prod, Mul(c, c.Op(ops::sign, {diagonal}), odd), last, false);
  d.log = Reduce(c, ops::sum, c.Op(ops::log, {c.Op(ops::abs, {diagonal})}), last, false);
  return d;
}

void SLogDet(AtenCall& c) {
  const LogDet d = LogDetOf(c);
  c.Return(d.sign);
  c.Return(d.log);
  if (c.schema().results.size() == 4) {
    c.Return(d.lu[0]);
    c.Return(d.lu[1]);
  }
}

// NaN for a negative determinant.
void LogDeterminant(AtenCall& c) {
  const LogDet d = LogDetOf(c);
  Value* negative = c.Op(ops::lt, {d.sign, NumberLike(c, d.sign, 0)});
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  c.Return(Where(c, negative, NumberLike(c, d.log, kNan), d.log));
}

void DetWithFactors(AtenCall& c) {
  Value* a = c.T("A");
  c.Return(c.Op(ops::det, {a}));
  const auto lu = Factored(c, a);
  c.Return(lu[0]);
  c.Return(lu[1]);
}

void SolveTriangular(AtenCall& c) {
  const bool left = c.Bool("left");
  const Pair p = WithBatch(c, c.T("self"), c.T("B"));
  const auto solve = [&](Value* a, Value* b, bool upper) {
    return ops::BuildSolveTriangular(c, a, b, upper, c.Bool("unitriangular"));
  };
  if (left) return c.Return(solve(p.a, p.b, c.Bool("upper")));
  c.Return(Transposed(c, solve(Transposed(c, p.a), Transposed(c, p.b), !c.Bool("upper"))));
}

void TriangularSolve(AtenCall& c) {
  const Pair p = WithBatch(c, c.T("A"), c.T("self"));
  const bool transpose = c.Bool("transpose");
  c.Return(
      c.Op(ops::solve_triangular, {transpose ? Transposed(c, p.a) : p.a, p.b},
           {{"upper", c.Bool("upper") != transpose}, {"unitriangular", c.Bool("unitriangular")}}));
  c.Return(p.a);
}

void VecDot(AtenCall& c) {
  const DType dtype = c.Promoted({"x", "y"});
  Value* products = Mul(c, c.As("x", dtype), c.As("y", dtype));
  c.Return(Reduce(c, ops::sum, products, {c.Dim("dim", RankOf(products))}, false));
}

constexpr AtenOp kTable[] = {
    {"_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", DetWithFactors},
    {"_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
     SLogDet},
    {"_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor "
     "result, Tensor LU, Tensor pivots, Tensor info)",
     LinalgSolve},
    {"cholesky_inverse(Tensor self, bool upper=False) -> Tensor", CholeskyInverse},
    {"cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", CholeskySolve},
    {"inverse(Tensor self) -> Tensor", Inverse},
    {"linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", Cholesky},
    {"linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, "
     "Tensor info)",
     Cholesky},
    {"linalg_inv(Tensor A) -> Tensor", Inverse},
    {"linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
     Inverse},
    {"linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", Lu},
    {"linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", LuFactor},
    {"linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, "
     "Tensor pivots, Tensor info)",
     LuFactor},
    {"linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) "
     "-> Tensor",
     LinalgLuSolve},
    {"linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", SLogDet},
    {"linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", LinalgSolve},
    {"linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor "
     "result, Tensor info)",
     LinalgSolve},
    {"linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
     "unitriangular=False) -> Tensor",
     SolveTriangular},
    {"linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", VecDot},
    {"logdet(Tensor self) -> Tensor", LogDeterminant},
    {"lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", LuSolve},
    {"lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) "
     "-> (Tensor P, Tensor L, Tensor U)",
     LuUnpack},
    {"slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", SLogDet},
    {"triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
     "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
     TriangularSolve},
};

}  // namespace

absl::Span<const AtenOp> LinalgTable() { return kTable; }

}  // namespace weft::pt2
