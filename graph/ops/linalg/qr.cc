// QR factors.
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/linalg/matrices.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) { return CheckMatrices(args, 0); }

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const SymInt m = RowsOf(self);
  const SymInt n = ColumnsOf(self);
  const SymInt k = args.attrs().Bool("complete") ? m : KnownMin(*args.symbols, m, n);
  return Types{self.WithDims(BatchDims(self, {m, k})), self.WithDims(BatchDims(self, {k, n}))};
}

// I - tau v v^T, v = (0, ..., 0, 1, v[k+1], ...), from the left.
void Reflect(const std::vector<double>& v, int64_t k, double tau, Matrix* a) {
  for (int64_t j = 0; j < a->columns; ++j) {
    double dot = 0;
    for (int64_t i = k; i < a->rows; ++i) dot += v[i] * (*a)(i, j);
    for (int64_t i = k; i < a->rows; ++i) (*a)(i, j) -= tau * dot * v[i];
  }
}

struct Reflector {
  std::vector<double> v;
  double tau = 0;
};

// The reflector that maps column k, from row k on, to a multiple of the first unit vector with the
// opposite sign, as LAPACK does.
Reflector MakeReflector(const Matrix& a, int64_t k) {
  Reflector r;
  r.v.resize(a.rows);
  double rest = 0;
  for (int64_t i = k + 1; i < a.rows; ++i) rest += a(i, k) * a(i, k);
  r.v[k] = 1;
  if (rest == 0) return r;
  const double beta = -std::copysign(std::sqrt(a(k, k) * a(k, k) + rest), a(k, k));
  for (int64_t i = k + 1; i < a.rows; ++i) r.v[i] = a(i, k) / (a(k, k) - beta);
  r.tau = (beta - a(k, k)) / beta;
  return r;
}

// `r` from the matrix to its upper factor; `q` of as many columns as it has.
void Factor(Matrix* r, Matrix* q) {
  std::vector<Reflector> reflectors;
  for (int64_t k = 0; k < std::min(r->rows, r->columns); ++k) {
    reflectors.push_back(MakeReflector(*r, k));
    Reflect(reflectors.back().v, k, reflectors.back().tau, r);
    for (int64_t i = k + 1; i < r->rows; ++i) (*r)(i, k) = 0;
  }
  for (int64_t i = 0; i < q->columns; ++i) (*q)(i, i) = 1;
  for (size_t k = reflectors.size(); k-- > 0;) {
    Reflect(reflectors[k].v, static_cast<int64_t>(k), reflectors[k].tau, q);
  }
}

absl::Status Eval(EvalContext& c) {
  Gathered qs, rs;
  for (Matrix& a : ReadMatrices(c.in(0))) {
    Matrix q(a.rows, c.out(0).dims().back());
    Factor(&a, &q);
    a.values.resize(q.columns * a.columns);
    qs.Add(q);
    rs.Add(a);
  }
  qs.WriteTo(&c.out(0));
  rs.WriteTo(&c.out(1));
  return absl::OkStatus();
}

// Reflections of the columns, m x n: 2 m n^2 - 2/3 n^3 for the factor, as much for q.
SymInt Flops(const FlopsArgs& args) {
  const auto dims = args.operands[0].dims();
  const SymInt size = args.operand_size();
  const SymInt m = dims[dims.size() - 2];
  const SymInt n = Min(m, dims.back());
  return 4 * size * n - FloorDiv(4 * size * n * n, 3 * Max(m, 1));
}

}  // namespace

WEFT_DEFINE_OP(qr, OpSpec("qr(Tensor self, bool complete=False) -> (Tensor q, Tensor r)",
                          "q with orthonormal columns and upper triangular r with q r = self, "
                          "for each m x n matrix in the last two dims: m x min(m, n) and "
                          "min(m, n) x n, or with `complete` m x m and m x n. By Householder's "
                          "reflections, with LAPACK's signs. ATen: aten::linalg_qr.")
                       .Verify(Verify)
                       .Infer(Infer)
                       .Eval(Eval)
                       .Map(Absent{"an element depends on a whole matrix"})
                       .Flops(Flops)
                       .Samples(R"(
qr(f32[3, 3])
qr(f64[2, 4, 2])
qr(f32[2, 4])
qr(f32[4, 2], complete=true)
qr(f32[2, 0, 2])
qr(f32[3]) ! "at least rank 2"
qr(i32[2, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
