// Orthogonal factorizations of matrices: QR, eigenvalues, singular values, and functions of them.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/matrix_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

void Qr(AtenCall& c) {
  const std::string mode = c.Str("mode");
  const auto qr = c.Ops(ops::qr, {c.T("A")}, {{"complete", mode == "complete"}});
  c.Return(mode == "r" ? Zeros(c, {SymInt(0)}, DTypeOf(qr[0])) : qr[0]);
  c.Return(qr[1]);
}

std::vector<Value*> Eigen(AtenCall& c) {
  return c.Ops(ops::eigh, {MatrixOf(c)}, {{"upper", c.Str("UPLO") == "U" || c.Str("UPLO") == "u"}});
}

void Eigh(AtenCall& c) { c.Return(Eigen(c)); }
void EigenValues(AtenCall& c) { c.Return(Eigen(c)[0]); }

void Svd(AtenCall& c) {
  c.Return(c.Ops(ops::svd, {c.T("A")}, {{"full_matrices", c.Bool("full_matrices")}}));
}

void SingularValues(AtenCall& c) { c.Return(c.Ops(ops::svd, {c.T("A")})[1]); }

// Returns V itself, not its transpose.
void OldSvd(AtenCall& c) {
  if (!c.Bool("compute_uv")) return c.Return(c.Unsupported("without the vectors"));
  const auto y = c.Ops(ops::svd, {c.T("self")}, {{"full_matrices", !c.Bool("some")}});
  c.Return(y[0]);
  c.Return(y[1]);
  c.Return(Transposed(c, y[2]));
}

// Singular values below this count as 0: `rtol` times the largest, or `atol`.
Value* Threshold(AtenCall& c, const Value* a, Value* s) {
  const DType dtype = DTypeOf(s);
  const double epsilon = dtype == DType::kF64 ? 0x1p-52 : 0x1p-23;
  Value* largest = Reduce(c, ops::amax, s, {RankOf(s) - 1}, true);
  const auto of = [&](const char* name) { return c.schema().Find(name) >= 0 && c.Has(name); };
  const bool has_atol = of("atol");
  Value* relative = nullptr;
  if (of("rtol") || of("rcond")) {
    relative = Number(c, dtype, c.Float(of("rtol") ? "rtol" : "rcond"));
  } else if (has_atol && c.Float("atol") > 0) {
    relative = Number(c, dtype, 0);
  } else {
    relative = Mul(c, SymScalar(c, Max(RowsOf(a), ColumnsOf(a)), dtype), epsilon);
  }
  Value* threshold = Mul(c, largest, relative);
  if (!has_atol) return threshold;
  return c.Op(ops::maximum, {threshold, NumberLike(c, threshold, c.Float("atol"))});
}

bool IsHermitian(AtenCall& c) { return c.schema().Find("hermitian") >= 0 && c.Bool("hermitian"); }

// V diag(1 / s) U^T, without values that count as 0.
void PseudoInverse(AtenCall& c) {
  Value* a = c.T("self");
  if (IsHermitian(c)) return c.Return(c.Unsupported("of a matrix said to be hermitian"));
  const auto y = c.Ops(ops::svd, {a});
  Value* counts = c.Op(ops::gt, {y[1], Threshold(c, a, y[1])});
  Value* inverse = Where(c, counts, c.Op(ops::reciprocal, {y[1]}), NumberLike(c, y[1], 0));
  Value* scaled = Mul(c, Transposed(c, y[2]), Unsqueeze(c, inverse, RankOf(inverse) - 1));
  c.Return(c.Op(ops::matmul, {scaled, Transposed(c, y[0])}));
}

void MatrixRank(AtenCall& c) {
  Value* a = c.T("self");
  if (IsHermitian(c)) return c.Return(c.Unsupported("of a matrix said to be hermitian"));
  Value* s = c.Ops(ops::svd, {a})[1];
  Value* threshold =
      c.schema().Find("tol") >= 0 ? NumberLike(c, s, c.Float("tol")) : Threshold(c, a, s);
  Value* counts = Convert(c, c.Op(ops::gt, {s, threshold}), DType::kI64);
  c.Return(Reduce(c, ops::sum, counts, {RankOf(s) - 1}, false));
}

void MatrixExp(AtenCall& c) { c.Return(c.Op(ops::matrix_exp, {c.T("self")})); }

constexpr AtenOp kTable[] = {
    {"_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor "
     "eigenvectors)",
     Eigh},
    {"_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) "
     "-> (Tensor U, Tensor S, Tensor Vh)",
     Svd},
    {"linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", Eigh},
    {"linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", EigenValues},
    {"linalg_matrix_exp(Tensor self) -> Tensor", MatrixExp},
    {"linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", MatrixRank},
    {"linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
     "hermitian=False) -> Tensor",
     MatrixRank},
    {"linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", PseudoInverse},
    {"linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
     "hermitian=False) -> Tensor",
     PseudoInverse},
    {"linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", Qr},
    {"linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, "
     "Tensor Vh)",
     Svd},
    {"linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", SingularValues},
    {"matrix_exp(Tensor self) -> Tensor", MatrixExp},
    {"pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", PseudoInverse},
    {"svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
     OldSvd},
};

}  // namespace

absl::Span<const AtenOp> SpectralTable() { return kTable; }

}  // namespace weft::pt2
