// Matmuls and products of vectors.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

Value* Product(AtenCall& c, Value* a, Value* b) {
  const DType dtype = DTypeOf(a);
  if (!IsComplex(dtype) && !IsComplex(DTypeOf(b))) {
    if (!IsInt(dtype) || DTypeBits(dtype) >= 32) return c.Op(ops::matmul, {a, b});
    // Narrow integers wrap, so the order of additions does not matter.
    Value* y = c.Op(ops::matmul, {Convert(c, a, DType::kI32), Convert(c, b, DType::kI32)});
    return Convert(c, y, dtype);
  }
  const ComplexParts x = PartsOf(c, a);
  const ComplexParts y = PartsOf(c, b);
  const auto product = [&](Value* p, Value* q) { return c.Op(ops::matmul, {p, q}); };
  return JoinParts(c, {Sub(c, product(x.real, y.real), product(x.imag, y.imag)),
                       Add(c, product(x.real, y.imag), product(x.imag, y.real))});
}

// The matmul of two arguments with any names.
void Matmul(AtenCall& c) { c.Return(Product(c, c.T("self"), c.T(c.schema().args[1].name))); }

// Matmul of i8 with i32 accumulators.
void IntMatmul(AtenCall& c) {
  c.Return(c.Op(ops::matmul,
                {Convert(c, c.T("self"), DType::kI32), Convert(c, c.T("mat2"), DType::kI32)}));
}

// Conjugates the first of the two vectors.
void VDot(AtenCall& c) {
  Value* x = c.T("self");
  if (IsComplex(DTypeOf(x))) {
    const ComplexParts z = PartsOf(c, x);
    x = JoinParts(c, {z.real, c.Op(ops::neg, {z.imag})});
  }
  c.Return(Product(c, x, c.T("other")));
}

bool IsNumberOne(const Arg& a) {
  return (a.is(Arg::Kind::kInt) && a.integer.Is(1)) || (a.is(Arg::Kind::kFloat) && a.number == 1);
}

bool IsZero(const Arg& a) {
  return (a.is(Arg::Kind::kInt) && a.integer.Is(0)) || (a.is(Arg::Kind::kFloat) && a.number == 0);
}

// beta * self + alpha * product; self is ignored if beta is 0.
void AddProduct(AtenCall& c, Value* product) {
  const DType dtype = DTypeOf(product);
  if (!IsNumberOne(c.arg("alpha"))) {
    product = Mul(c, product, c.As("alpha", dtype));
  }
  if (IsZero(c.arg("beta"))) return c.Return(product);
  Value* self = c.T("self");
  if (!IsNumberOne(c.arg("beta"))) self = Mul(c, self, c.As("beta", dtype));
  c.Return(Add(c, self, product));
}

template <int first>
void AddMatmul(AtenCall& c) {
  const auto& args = c.schema().args;
  AddProduct(c, Product(c, c.T(args[first].name), c.T(args[first + 1].name)));
}

void AddBmmSum(AtenCall& c) {
  Value* products = Product(c, c.T("batch1"), c.T("batch2"));
  AddProduct(c, Reduce(c, ops::sum, products, {0}, false));
}

Value* OuterOf(AtenCall& c, Value* a, Value* b) {
  const DType dtype = PromoteTypes(DTypeOf(a), DTypeOf(b));
  return Mul(c, Unsqueeze(c, Convert(c, a, dtype), 1), Unsqueeze(c, Convert(c, b, dtype), 0));
}

void Outer(AtenCall& c) { c.Return(OuterOf(c, c.T("self"), c.T("vec2"))); }

void Addr(AtenCall& c) { AddProduct(c, OuterOf(c, c.T("vec1"), c.T("vec2"))); }

void Linear(AtenCall& c) {
  const DType dtype = DTypeOf(c.T("input"));
  if (IsComplex(dtype) || (IsInt(dtype) && DTypeBits(dtype) < 32)) {
    Value* weight = c.T("weight");
    if (RankOf(weight) == 2) weight = Permute(c, weight, {1, 0});
    Value* y = Product(c, c.T("input"), weight);
    return c.Return(c.Has("bias") ? Add(c, y, c.T("bias")) : y);
  }
  c.Return(c.Op(ops::linear, {c.T("input"), c.T("weight"), c.OptT("bias")}));
}

void Bilinear(AtenCall& c) {
  Value* a = c.T("input1");
  Value* b = c.T("input2");
  Value* w = c.T("weight");  // [out, in1, in2]
  Value* y = c.Op(ops::einsum, {a, w, b}, {{"equation", "...i,oij,...j->...o"}});
  if (c.Has("bias")) y = Add(c, y, c.T("bias"));
  c.Return(y);
}

// Contracts dims `a` of self with dims `b` of other by one matmul.
Value* Contract(AtenCall& c, Value* x, Value* y, const Ints& a, const Ints& b) {
  Ints perm_x = OtherDims(RankOf(x), a);
  const size_t outer_x = perm_x.size();
  perm_x.insert(perm_x.end(), a.begin(), a.end());
  Ints perm_y = b;
  for (int64_t d : OtherDims(RankOf(y), b)) perm_y.push_back(d);
  x = Permute(c, x, perm_x);
  y = Permute(c, y, perm_y);
  if (!c.ok()) return nullptr;
  const SymInts have_x = DimsOf(x);
  const SymInts have_y = DimsOf(y);
  SymInts size(have_x.begin(), have_x.begin() + outer_x);
  size.insert(size.end(), have_y.begin() + b.size(), have_y.end());
  SymInt m = 1, k = 1, n = 1;
  for (size_t i = 0; i < have_x.size(); ++i) {
    (i < outer_x ? m : k) = (i < outer_x ? m : k) * have_x[i];
  }
  for (size_t i = b.size(); i < have_y.size(); ++i) n = n * have_y[i];
  Value* product = Product(c, Reshape(c, x, {m, k}), Reshape(c, y, {k, n}));
  return Reshape(c, product, size);
}

void TensorDot(AtenCall& c) {
  Value* x = c.T("self");
  Value* y = c.T("other");
  Ints a, b;
  for (int64_t d : c.Ints("dims_self")) a.push_back(c.WrapDim(d, RankOf(x)));
  for (int64_t d : c.Ints("dims_other")) b.push_back(c.WrapDim(d, RankOf(y)));
  if (a.size() != b.size()) return c.Return(c.Fail("dims differ in number"));
  // A dim of size 1 broadcasts: the other operand is summed over its dim.
  for (size_t i = 0; i < a.size(); ++i) {
    const SymInt n = DimOf(x, static_cast<int>(a[i]));
    const SymInt m = DimOf(y, static_cast<int>(b[i]));
    if (n.Is(1) && !m.Is(1)) y = Reduce(c, ops::sum, y, {b[i]}, true);
    if (m.Is(1) && !n.Is(1)) x = Reduce(c, ops::sum, x, {a[i]}, true);
  }
  c.Return(Contract(c, x, y, a, b));
}

void Inner(AtenCall& c) {
  Value* x = c.T("self");
  Value* y = c.T("other");
  if (RankOf(x) == 0 || RankOf(y) == 0) return c.Return(Mul(c, x, y));
  c.Return(Contract(c, x, y, {RankOf(x) - 1}, {RankOf(y) - 1}));
}

void Kron(AtenCall& c) {
  Value* x = c.T("self");
  Value* y = c.T("other");
  const DType dtype = PromoteTypes(DTypeOf(x), DTypeOf(y));
  x = Convert(c, x, dtype);
  y = Convert(c, y, dtype);
  while (RankOf(x) < RankOf(y) && c.ok()) x = Unsqueeze(c, x, 0);
  while (RankOf(y) < RankOf(x) && c.ok()) y = Unsqueeze(c, y, 0);
  const int rank = RankOf(x);
  SymInts a, b, size;
  for (int i = 0; i < rank; ++i) {
    const SymInt n = DimOf(x, i);
    const SymInt m = DimOf(y, i);
    a.insert(a.end(), {n, SymInt(1)});
    b.insert(b.end(), {SymInt(1), m});
    size.push_back(n * m);
  }
  c.Return(Reshape(c, Mul(c, Reshape(c, x, a), Reshape(c, y, b)), size));
}

void ChainMatmul(AtenCall& c) {
  const std::vector<Value*> values = c.Ts(c.schema().Find("tensors") >= 0 ? "tensors" : "matrices");
  if (values.empty()) return c.Return(c.Fail("no operands"));
  Value* y = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    y = Product(c, y, values[i]);
  }
  c.Return(y);
}

void Cross(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  Value* a = c.As("self", dtype);
  Value* b = c.As("other", dtype);
  const SymInts size = BroadcastDims(DimsOf(a), DimsOf(b));
  a = Expand(c, a, size);
  b = Expand(c, b, size);
  int dim = -1;
  if (c.Has("dim")) {
    dim = c.Dim("dim", RankOf(a));
  } else {
    for (size_t i = 0; i < size.size() && dim < 0; ++i) {
      if (size[i].Is(3)) dim = static_cast<int>(i);
    }
  }
  if (dim < 0 || size.empty()) return c.Return(c.Fail("no dim of size 3"));
  const auto rolled = [&](Value* v, int64_t by) {
    return c.Op(ops::roll, {v}, {{"shifts", Ints{by}}, {"dims", Ints{dim}}});
  };
  c.Return(Sub(c, Mul(c, rolled(a, -1), rolled(b, -2)), Mul(c, rolled(a, -2), rolled(b, -1))));
}

void LinalgMatrixPower(AtenCall& c) {
  constexpr int64_t kMaxPower = 64;
  Value* x = c.T("self");
  const int64_t n = c.Int("n");
  if (n < 1 || n > kMaxPower) {
    return c.Return(c.Unsupported("the power must be 1 to 64"));
  }
  Value* y = x;
  for (int64_t i = 1; i < n; ++i) y = Product(c, y, x);
  c.Return(y);
}

void Det(AtenCall& c) { c.Return(c.Op(ops::det, {c.T(c.schema().args[0].name)})); }

// Distances between rows: [.., P, M] and [.., R, M] to [.., P, R].
Value* Distances(AtenCall& c, Value* a, Value* b, double p) {
  const int rank = RankOf(a);
  if (rank < 2 || RankOf(b) < 2) return c.Fail("self has too few dims");
  Value* d = c.Op(ops::abs, {Sub(c, Unsqueeze(c, a, rank - 1), Unsqueeze(c, b, RankOf(b) - 2))});
  const Ints last = {RankOf(d) - 1};
  if (p == 0) {
    d = c.Op(ops::ne, {d, NumberLike(c, d, 0)});
    return Reduce(c, ops::sum, Convert(c, d, DTypeOf(a)), last, false);
  }
  if (p == 1) return Reduce(c, ops::sum, d, last, false);
  if (p > 1e300) return Reduce(c, ops::amax, d, last, false);
  if (p == 2) {
    return c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, d, d), last, false)});
  }
  Value* sum = Reduce(c, ops::sum, c.Op(ops::pow, {d, NumberLike(c, d, p)}), last, false);
  return c.Op(ops::pow, {sum, NumberLike(c, sum, 1 / p)});
}

void CDist(AtenCall& c) { c.Return(Distances(c, c.T("x1"), c.T("x2"), c.Float("p"))); }

// The distances above the diagonal, row by row.
void PDist(AtenCall& c) {
  constexpr int64_t kMaxRows = 4096;
  Value* x = c.T("self");
  Value* d = Distances(c, x, x, c.Float("p"));
  if (!c.ok()) return;
  const SymInt n = DimOf(x, 0);
  if (!n.is_constant() || n.value() > kMaxRows || RankOf(x) != 2) {
    return c.Return(c.Unsupported("the number of rows is not known"));
  }
  Ints at;
  for (int64_t i = 0; i < n.value(); ++i) {
    for (int64_t j = i + 1; j < n.value(); ++j) at.push_back(i * n.value() + j);
  }
  Value* index =
      c.b().Constant(HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(at.size())}, at));
  c.Return(c.Op(ops::index_select, {Flatten(c, d, 0, 1), index}, {{"dim", 0}}));
}

void PairwiseDistance(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"x1", "x2"});
  Value* d = Add(c, Sub(c, c.As("x1", dtype), c.As("x2", dtype)), c.Float("eps"));
  const double p = c.Float("p");
  const Ints last = {RankOf(d) - 1};
  const bool keep = c.Bool("keepdim");
  d = c.Op(ops::abs, {d});
  if (p == 1) return c.Return(Reduce(c, ops::sum, d, last, keep));
  if (p == 2) {
    return c.Return(c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, d, d), last, keep)}));
  }
  Value* sum = Reduce(c, ops::sum, c.Op(ops::pow, {d, NumberLike(c, d, p)}), last, keep);
  c.Return(c.Op(ops::pow, {sum, NumberLike(c, sum, 1 / p)}));
}

// x1 . x2 / (max(|x1|, eps) max(|x2|, eps))
void CosineSimilarity(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"x1", "x2"});
  Value* a = c.As("x1", dtype);
  Value* b = c.As("x2", dtype);
  const SymInts size = BroadcastDims(DimsOf(a), DimsOf(b));
  a = Expand(c, a, size);
  b = Expand(c, b, size);
  const Ints dims = {c.Dim("dim", RankOf(a))};
  const double eps = c.Float("eps");
  const auto unit = [&](Value* v) {
    Value* norm = c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, v, v), dims, true)});
    return Div(c, v, c.Op(ops::maximum, {norm, NumberLike(c, norm, eps)}));
  };
  c.Return(Reduce(c, ops::sum, Mul(c, unit(a), unit(b)), dims, false));
}

constexpr AtenOp kTable[] = {
    {"_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> "
     "Tensor",
     CDist},
    {"_int_mm(Tensor self, Tensor mat2) -> Tensor", IntMatmul},
    {"_pdist_forward(Tensor self, float p=2.) -> Tensor", PDist},
    {"addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor",
     AddBmmSum},
    {"addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
     "alpha=1) -> Tensor",
     AddMatmul<1>},
    {"addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar "
     "alpha=1) -> Tensor",
     AddMatmul<1>},
    {"addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar "
     "alpha=1) -> Tensor",
     Addr},
    {"baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor",
     AddMatmul<1>},
    {"bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) "
     "-> Tensor",
     Bilinear},
    {"bmm(Tensor self, Tensor mat2) -> Tensor", Matmul},
    {"cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> "
     "Tensor",
     CDist},
    {"chain_matmul(Tensor[] matrices) -> Tensor", ChainMatmul},
    {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> "
     "Tensor",
     CosineSimilarity},
    {"cross(Tensor self, Tensor other, int? dim=None) -> Tensor", Cross},
    {"det(Tensor self) -> Tensor", Det},
    {"dot(Tensor self, Tensor tensor) -> Tensor", Matmul},
    {"ger(Tensor self, Tensor vec2) -> Tensor", Outer},
    {"inner(Tensor self, Tensor other) -> Tensor", Inner},
    {"kron(Tensor self, Tensor other) -> Tensor", Kron},
    {"linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", Cross},
    {"linalg_det(Tensor A) -> Tensor", Det},
    {"linalg_matmul(Tensor self, Tensor other) -> Tensor", Matmul},
    {"linalg_matrix_power(Tensor self, int n) -> Tensor", LinalgMatrixPower},
    {"linalg_multi_dot(Tensor[] tensors) -> Tensor", ChainMatmul},
    {"linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", Linear},
    {"matmul(Tensor self, Tensor other) -> Tensor", Matmul},
    {"matrix_power(Tensor self, int n) -> Tensor", LinalgMatrixPower},
    {"mm(Tensor self, Tensor mat2) -> Tensor", Matmul},
    {"mv(Tensor self, Tensor vec) -> Tensor", Matmul},
    {"outer(Tensor self, Tensor vec2) -> Tensor", Outer},
    {"pairwise_distance(Tensor x1, Tensor x2, float p=2., float "
     "eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
     PairwiseDistance},
    {"pdist(Tensor self, float p=2.) -> Tensor", PDist},
    {"tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) "
     "-> Tensor",
     TensorDot},
    {"vdot(Tensor self, Tensor other) -> Tensor", VDot},
};

}  // namespace

absl::Span<const AtenOp> MatmulTable() { return kTable; }

}  // namespace weft::pt2
