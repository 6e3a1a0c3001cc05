// Reductions along dims, and cumulative ones.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

bool KeepDim(AtenCall& c) { return HasArg(c, "keepdim") && c.Bool("keepdim", false); }

Ints DimArg(AtenCall& c, const Value* self) {
  if (HasArg(c, "dim")) return c.Dims("dim", RankOf(self));
  return AllDims(RankOf(self));
}

// Integers and bools are summed as i64.
DType SumDType(AtenCall& c, Value* self) {
  const DType d = DTypeOf(self);
  const DType plain = IsInt(d) || d == DType::kBool ? DType::kI64 : d;
  return HasArg(c, "dtype") ? c.Dtype("dtype", plain) : plain;
}

template <const OpDef& op>
void SumLike(AtenCall& c) {
  Value* self = c.T("self");
  const Ints dims = DimArg(c, self);
  c.Return(Reduce(c, op, Convert(c, self, SumDType(c, self)), dims, KeepDim(c)));
}

void NanSum(AtenCall& c) {
  Value* self = c.T("self");
  const Ints dims = DimArg(c, self);
  Value* x = Convert(c, self, SumDType(c, self));
  if (IsFloat(DTypeOf(x))) {
    x = Where(c, c.Op(ops::isnan, {x}), NumberLike(c, x, 0), x);
  }
  c.Return(Reduce(c, ops::sum, x, dims, KeepDim(c)));
}

void Mean(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = c.Dtype("dtype", DTypeOf(self));
  if (!IsFloat(dtype)) {
    return c.Return(c.Fail(absl::StrCat("no mean in ", DTypeName(dtype))));
  }
  c.Return(Reduce(c, ops::mean, Convert(c, self, dtype), DimArg(c, self), KeepDim(c)));
}

template <const OpDef& op>
void Extremum(AtenCall& c) {
  Value* self = c.T("self");
  const Ints dims = DimArg(c, self);
  // Bools compare as integers do.
  const bool is_bool = DTypeOf(self) == DType::kBool;
  Value* x = is_bool ? Convert(c, self, DType::kU8) : self;
  Value* y = Reduce(c, op, x, dims, KeepDim(c));
  c.Return(is_bool ? Convert(c, y, DType::kBool) : y);
}

// Returns values and positions along one dim. The position in a scalar is 0.
template <const OpDef& extremum, const OpDef& arg>
void ExtremumDim(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) {
    c.Return(self);
    return c.Return(Number(c, DType::kI64, 0));
  }
  const int dim = c.Dim("dim", RankOf(self));
  const bool is_bool = DTypeOf(self) == DType::kBool;
  Value* x = is_bool ? Convert(c, self, DType::kU8) : self;
  Value* y = Reduce(c, extremum, x, {dim}, KeepDim(c));
  c.Return(is_bool ? Convert(c, y, DType::kBool) : y);
  c.Return(c.Op(arg, {x}, {{"dim", dim}, {"keepdim", KeepDim(c)}}));
}

template <const OpDef& arg>
void ArgExtremum(AtenCall& c) {
  Value* self = c.T("self");
  if (DTypeOf(self) == DType::kBool) self = Convert(c, self, DType::kU8);
  const int rank = RankOf(self);
  const bool keepdim = KeepDim(c);
  if (rank == 0) return c.Return(Number(c, DType::kI64, 0));
  if (c.Has("dim")) {
    return c.Return(c.Op(arg, {self}, {{"dim", c.Dim("dim", rank)}, {"keepdim", keepdim}}));
  }
  Value* y = c.Op(arg, {Flatten(c, self, 0, rank - 1)}, {{"dim", 0}});
  c.Return(keepdim ? Reshape(c, y, SymInts(rank, SymInt(1))) : y);
}

template <const OpDef& op>
void Logical(AtenCall& c) {
  Value* self = c.T("self");
  const Ints dims = DimArg(c, self);
  const bool bytes = DTypeOf(self) == DType::kU8;
  if (DTypeOf(self) != DType::kBool) {
    self = c.Op(ops::ne, {self, NumberLike(c, self, 0)});
  }
  Value* y = Reduce(c, op, self, dims, KeepDim(c));
  c.Return(bytes ? Convert(c, y, DType::kU8) : y);
}

void CountNonzero(AtenCall& c) {
  Value* self = c.T("self");
  Value* nonzero = c.Op(ops::ne, {self, NumberLike(c, self, 0)});
  c.Return(Reduce(c, ops::sum, Convert(c, nonzero, DType::kI64), DimArg(c, self), false));
}

void LogSumExp(AtenCall& c) {
  Value* self = c.As("self", c.PromotedFloat({"self"}));
  c.Return(Reduce(c, ops::logsumexp, self, DimArg(c, self), KeepDim(c)));
}

// --- Variance ---------------------------------------------------------------------

// The number that is subtracted from the number of elements.
double Correction(AtenCall& c) {
  if (HasArg(c, "correction")) return c.Float("correction", 1);
  return HasArg(c, "unbiased") ? (c.Bool("unbiased") ? 1 : 0) : 1;
}

struct Moments {
  Value* mean = nullptr;
  Value* var = nullptr;
};

Moments MomentsOf(AtenCall& c, Value* self) {
  const DType dtype = DTypeOf(self);
  if (IsComplex(dtype)) {
    const ComplexParts parts = PartsOf(c, self);
    const Moments real = MomentsOf(c, parts.real);
    const Moments imag = MomentsOf(c, parts.imag);
    return {JoinParts(c, {real.mean, imag.mean}), Add(c, real.var, imag.var)};
  }
  Value* x = Convert(c, self, Wide(dtype));
  if (x == nullptr || !IsFloat(dtype)) {
    c.Fail("the variance of integers is not defined");
    return {};
  }
  const Ints dims = DimArg(c, x);
  SymInt n = 1;
  for (int64_t d : dims) n = n * DimOf(x, static_cast<int>(d));
  Value* mean = Reduce(c, ops::mean, x, dims, true);
  Value* centered = Sub(c, x, mean);
  Value* sum = Reduce(c, ops::sum, Mul(c, centered, centered), dims, KeepDim(c));
  Value* count = SymScalar(c, n, Wide(dtype));
  Value* divisor = c.Op(ops::maximum, {Sub(c, count, Correction(c)), NumberLike(c, count, 0)});
  if (!KeepDim(c)) mean = Reduce(c, ops::mean, x, dims, false);
  return {Convert(c, mean, dtype), Div(c, sum, divisor)};
}

void Var(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Convert(c, MomentsOf(c, self).var, RealDType(DTypeOf(self))));
}

void Std(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Convert(c, c.Op(ops::sqrt, {MomentsOf(c, self).var}), RealDType(DTypeOf(self))));
}

void VarMean(AtenCall& c) {
  Value* self = c.T("self");
  const Moments m = MomentsOf(c, self);
  c.Return(Convert(c, m.var, RealDType(DTypeOf(self))));
  c.Return(m.mean);
}

void StdMean(AtenCall& c) {
  Value* self = c.T("self");
  const Moments m = MomentsOf(c, self);
  c.Return(Convert(c, c.Op(ops::sqrt, {m.var}), RealDType(DTypeOf(self))));
  c.Return(m.mean);
}

// --- Norms ------------------------------------------------------------------------

// (sum |x|^p)^(1/p), and its limits for infinite p.
Value* VectorNorm(AtenCall& c, Value* x, double p, const Ints& dims, bool keepdim) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DType dtype = DTypeOf(x);
  Value* a = c.Op(ops::abs, {Convert(c, x, Wide(dtype))});
  Value* y = nullptr;
  if (p == kInfinity) {
    y = Reduce(c, ops::amax, a, dims, keepdim);
  } else if (p == -kInfinity) {
    y = Reduce(c, ops::amin, a, dims, keepdim);
  } else if (p == 0) {
    Value* nonzero = c.Op(ops::ne, {a, NumberLike(c, a, 0)});
    y = Reduce(c, ops::sum, Convert(c, nonzero, DTypeOf(a)), dims, keepdim);
  } else if (p == 1) {
    y = Reduce(c, ops::sum, a, dims, keepdim);
  } else if (p == 2) {
    y = c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, a, a), dims, keepdim)});
  } else {
    Value* power = c.Op(ops::pow, {a, NumberLike(c, a, p)});
    Value* sum = Reduce(c, ops::sum, power, dims, keepdim);
    y = c.Op(ops::pow, {sum, NumberLike(c, sum, 1 / p)});
  }
  return Convert(c, y, dtype);
}

void LinalgVectorNorm(AtenCall& c) {
  Value* x = c.T("self");
  x = Convert(c, x, c.Dtype("dtype", DTypeOf(x)));
  c.Return(VectorNorm(c, x, c.Float("ord"), DimArg(c, x), KeepDim(c)));
}

// The norm of the matrix in the last two of `dims`; norms by singular values are not supported.
Value* MatrixNorm(AtenCall& c, Value* x, Ints dims, bool keepdim) {
  if (dims.size() != 2 || dims[0] == dims[1]) return c.Fail("a matrix has two dims");
  const bool named = c.Has("ord") && c.arg("ord").is(Arg::Kind::kString);
  if (named && c.Str("ord") == "fro") return VectorNorm(c, x, 2, dims, keepdim);
  if (named) return c.Unsupported(absl::StrCat("the norm \"", c.Str("ord"), "\""));
  const double p = c.Float("ord");
  const bool rows = std::isinf(p);
  if (!rows && std::abs(p) != 1) return c.Unsupported("a norm of singular values");
  const DType dtype = DTypeOf(x);
  Value* a = c.Op(ops::abs, {Convert(c, x, Wide(dtype))});
  a = Reduce(c, ops::sum, a, {dims[rows ? 1 : 0]}, true);
  a = p > 0 ? Reduce(c, ops::amax, a, dims, keepdim) : Reduce(c, ops::amin, a, dims, keepdim);
  return Convert(c, a, dtype);
}

void LinalgMatrixNorm(AtenCall& c) {
  Value* x = c.T("self");
  x = Convert(c, x, c.Dtype("dtype", DTypeOf(x)));
  Ints dims;
  for (int64_t d : c.Ints("dim")) dims.push_back(c.WrapDim(d, RankOf(x)));
  c.Return(MatrixNorm(c, x, dims, KeepDim(c)));
}

// Without a dim, `ord` decides: the norm of a matrix, or of all elements.
void LinalgNorm(AtenCall& c) {
  Value* x = c.T("self");
  x = Convert(c, x, c.Dtype("dtype", DTypeOf(x)));
  const Ints dims = DimArg(c, x);
  const bool of_matrix = c.Has("ord") && dims.size() == 2 && (c.Has("dim") || RankOf(x) == 2);
  if (of_matrix) return c.Return(MatrixNorm(c, x, dims, KeepDim(c)));
  if (c.Has("ord") && c.arg("ord").is(Arg::Kind::kString)) {
    return c.Return(c.Fail("a norm by name is of matrices"));
  }
  c.Return(VectorNorm(c, x, c.Float("ord", 2), dims, KeepDim(c)));
}

void Norm(AtenCall& c) {
  Value* x = c.T("self");
  if (HasArg(c, "dtype")) x = Convert(c, x, c.Dtype("dtype", DTypeOf(x)));
  c.Return(VectorNorm(c, x, c.Float("p", 2), DimArg(c, x), KeepDim(c)));
}

// --- Cumulative reductions --------------------------------------------------------

template <const OpDef& op>
void Cumulative(AtenCall& c) {
  Value* self = c.T("self");
  Value* x = Convert(c, self, SumDType(c, self));
  const int rank = RankOf(x);
  if (rank == 0) return c.Return(x);
  c.Return(c.Op(op, {x}, {{"dim", c.Dim("dim", rank)}}));
}

// log of the cumulative sum of exp(x - max), where max is over the whole dim.
void LogCumSumExp(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  const int rank = RankOf(x);
  if (rank == 0) return c.Return(x);
  const int dim = c.Dim("dim", rank);
  Value* wide = Convert(c, x, DType::kF64);
  Value* most = Reduce(c, ops::amax, wide, {dim}, true);
  Value* sums = c.Op(ops::cumsum, {c.Op(ops::exp, {Sub(c, wide, most)})}, {{"dim", dim}});
  c.Return(Convert(c, Add(c, c.Op(ops::log, {sums}), most), DTypeOf(x)));
}

void Diff(AtenCall& c) {
  Value* x = c.T("self");
  const int rank = RankOf(x);
  if (rank == 0) return c.Return(c.Fail("self has no dims"));
  const int dim = c.Dim("dim", rank);
  if (c.Int("n") == 0) return c.Return(x);
  std::vector<Value*> parts = {c.OptT("prepend"), x, c.OptT("append")};
  parts.erase(std::remove(parts.begin(), parts.end(), nullptr), parts.end());
  x = Cat(c, parts, dim);
  constexpr int64_t kMaxOrder = 64;
  const int64_t order = std::min(c.Int("n"), kMaxOrder);
  for (int64_t i = 0; i < order && c.ok(); ++i) {
    const SymInt n = DimOf(x, dim);
    Value* next = Slice(c, x, dim, 1, n);
    Value* last = Slice(c, x, dim, 0, n - 1);
    x = DTypeOf(x) == DType::kBool ? c.Op(ops::logical_xor, {next, last}) : Sub(c, next, last);
  }
  c.Return(x);
}

void AMinMax(AtenCall& c) {
  Value* x = c.T("self");
  const Ints dims = DimArg(c, x);
  c.Return(Reduce(c, ops::amin, x, dims, KeepDim(c)));
  c.Return(Reduce(c, ops::amax, x, dims, KeepDim(c)));
}

void Trace(AtenCall& c) {
  Value* x = c.T("self");
  if (RankOf(x) != 2) return c.Return(c.Fail("self is no matrix"));
  x = Convert(c, x, SumDType(c, x));
  Value* eye =
      c.Op(ops::eye, {}, {{"n", DimOf(x, 0)}, {"m", DimOf(x, 1)}, {"dtype", DType::kBool}});
  c.Return(Reduce(c, ops::sum, Where(c, eye, x, NumberLike(c, x, 0)), {0, 1}, false));
}

constexpr AtenOp kTable[] = {
    {"_is_all_true(Tensor self) -> Tensor", Logical<ops::all>},
    {"_is_any_true(Tensor self) -> Tensor", Logical<ops::any>},
    {"all(Tensor self) -> Tensor", Logical<ops::all>},
    {"all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", Logical<ops::all>},
    {"all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", Logical<ops::all>},
    {"amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", Extremum<ops::amax>},
    {"amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", Extremum<ops::amin>},
    {"aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor "
     "min, Tensor max)",
     AMinMax},
    {"any(Tensor self) -> Tensor", Logical<ops::any>},
    {"any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", Logical<ops::any>},
    {"any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", Logical<ops::any>},
    {"argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", ArgExtremum<ops::argmax>},
    {"argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", ArgExtremum<ops::argmin>},
    {"count_nonzero(Tensor self, int? dim=None) -> Tensor", CountNonzero},
    {"count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", CountNonzero},
    {"cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     Cumulative<ops::cumprod>},
    {"cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Cumulative<ops::cumsum>},
    {"diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? "
     "append=None) -> Tensor",
     Diff},
    {"linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     LinalgMatrixNorm},
    {"linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
     "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     LinalgMatrixNorm},
    {"linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     LinalgNorm},
    {"linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     LinalgNorm},
    {"linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
     "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     LinalgVectorNorm},
    {"logcumsumexp(Tensor self, int dim) -> Tensor", LogCumSumExp},
    {"logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", LogSumExp},
    {"max(Tensor self) -> Tensor", Extremum<ops::amax>},
    {"max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)",
     ExtremumDim<ops::amax, ops::argmax>},
    {"mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", Mean},
    {"mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     Mean},
    {"min(Tensor self) -> Tensor", Extremum<ops::amin>},
    {"min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)",
     ExtremumDim<ops::amin, ops::argmin>},
    {"nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     NanSum},
    {"norm.Scalar(Tensor self, Scalar p=2) -> Tensor", Norm},
    {"norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool "
     "keepdim=False) -> Tensor",
     Norm},
    {"norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool "
     "keepdim, *, ScalarType dtype) -> Tensor",
     Norm},
    {"prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", SumLike<ops::prod>},
    {"prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     SumLike<ops::prod>},
    {"special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", LogSumExp},
    {"std(Tensor self, bool unbiased=True) -> Tensor", Std},
    {"std.correction(Tensor self, int[1]? dim=None, *, Scalar? "
     "correction=None, bool keepdim=False) -> Tensor",
     Std},
    {"std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
     "keepdim=False) -> Tensor",
     Std},
    {"std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", StdMean},
    {"std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
     "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     StdMean},
    {"std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
     "keepdim=False) -> (Tensor, Tensor)",
     StdMean},
    {"sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", SumLike<ops::sum>},
    {"sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     SumLike<ops::sum>},
    {"trace(Tensor self) -> Tensor", Trace},
    {"var(Tensor self, bool unbiased=True) -> Tensor", Var},
    {"var.correction(Tensor self, int[1]? dim=None, *, Scalar? "
     "correction=None, bool keepdim=False) -> Tensor",
     Var},
    {"var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
     "keepdim=False) -> Tensor",
     Var},
    {"var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", VarMean},
    {"var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
     "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     VarMean},
    {"var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
     "keepdim=False) -> (Tensor, Tensor)",
     VarMean},
};

}  // namespace

absl::Span<const AtenOp> ReduceTable() { return kTable; }

}  // namespace weft::pt2
