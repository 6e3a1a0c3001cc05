// Quantiles, counts and moments of samples.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/index.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

// --- Quantiles --------------------------------------------------------------------

// Moves the dim to the end; all elements become one dim if none is given.
Value* SampleLast(AtenCall& c, Value* x, int dim) {
  const int rank = RankOf(x);
  if (dim < 0 || rank == 0) return Flatten(c, x, 0, std::max(rank, 1) - 1);
  return Permute(c, x, MoveDim(rank, dim, rank - 1));
}

// The element of each row at the integer position `rank`.
Value* AtRank(AtenCall& c, Value* sorted, Value* rank) {
  Value* index = Convert(c, rank, DType::kI64);
  return ops::BuildGather(c, sorted, index, RankOf(sorted) - 1);
}

Value* Interpolated(AtenCall& c, Value* sorted, Value* rank) {
  const std::string mode = c.Str("interpolation");
  if (mode == "nearest") return AtRank(c, sorted, c.Op(ops::round, {rank}));
  Value* below = c.Op(ops::floor, {rank});
  Value* above = c.Op(ops::ceil, {rank});
  Value* low = AtRank(c, sorted, below);
  if (mode == "lower") return low;
  Value* high = AtRank(c, sorted, above);
  if (mode == "higher") return high;
  if (mode != "linear" && mode != "midpoint") {
    return c.Fail(absl::StrCat("unknown interpolation \"", mode, "\""));
  }
  Value* weight = mode == "linear" ? Sub(c, rank, below) : NumberLike(c, rank, 0.5);
  Value* between = Sub(c, high, low);
  Value* from_low = Add(c, low, Mul(c, weight, between));
  Value* from_high = Sub(c, high, Mul(c, between, Sub(c, NumberLike(c, weight, 1), weight)));
  Value* near = c.Op(ops::lt, {weight, NumberLike(c, weight, 0.5)});
  Value* y = Where(c, near, from_low, from_high);
  // Equal infinities are not interpolated.
  return Where(c, c.Op(ops::eq, {low, high}), low, y);
}

// NaN for a row that has one; with `ignore_nan`, NaNs are left out.
template <bool ignore_nan>
void Quantile(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = DTypeOf(self);
  const int rank = RankOf(self);
  const int dim = c.Has("dim") ? c.Dim("dim", rank) : -1;
  Value* x = SampleLast(c, self, dim);
  Value* sorted = ops::BuildSort(c, x, RankOf(x) - 1)[0];
  const Ints last = {RankOf(x) - 1};
  Value* nan = c.Op(ops::isnan, {x});
  Value* size = SymScalar(c, DimOf(x, RankOf(x) - 1), dtype);
  Value* nans = Reduce(c, ops::sum, Convert(c, nan, dtype), last, true);
  Value* q = c.As("q", dtype);
  const bool many = RankOf(q) == 1;
  q = Reshape(c, q, {q->type().numel()});
  Value* greatest = Sub(c, ignore_nan ? Sub(c, size, nans) : size, 1);
  Value* at = Mul(c, q, c.Op(ops::maximum, {greatest, NumberLike(c, greatest, 0)}));
  SymInts rows = DimsOf(x);
  rows.back() = DimOf(q, 0);
  at = Expand(c, at, rows);
  if (!ignore_nan) {
    Value* any = c.Op(ops::gt, {nans, NumberLike(c, nans, 0)});
    at = Where(c, any, Sub(c, size, 1), at);
  }
  Value* y = Interpolated(c, sorted, at);
  // [rows..., q]: moves q first, and keeps the dim with size 1 if requested.
  const int y_rank = RankOf(y);
  y = Permute(c, y, MoveDim(y_rank, y_rank - 1, 0));
  if (c.Bool("keepdim")) {
    SymInts keep(rank, SymInt(1));
    for (int i = 0; i < rank && dim >= 0; ++i) {
      if (i != dim) keep[i] = DimOf(self, i);
    }
    keep.insert(keep.begin(), DimOf(q, 0));
    y = Reshape(c, y, keep);
  }
  c.Return(many ? y : Squeeze(c, y, 0));
}

// The lower of the two middle elements of those that are not NaN.
std::vector<Value*> NanMedianLast(AtenCall& c, Value* x) {
  const int last = RankOf(x) - 1;
  const std::vector<Value*> sorted = ops::BuildSort(c, x, last);
  Value* number =
      IsFloat(DTypeOf(x)) ? c.Op(ops::logical_not, {c.Op(ops::isnan, {x})}) : c.Op(ops::eq, {x, x});
  Value* count = Reduce(c, ops::sum, Convert(c, number, DType::kI64), {last}, true);
  Value* zero = NumberLike(c, count, 0);
  Value* at = c.Op(ops::maximum, {Sub(c, count, 1), zero});
  at = ops::BuildDiv(c, at, NumberLike(c, at, 2), "floor");
  const auto pick = [&](Value* v) { return Squeeze(c, ops::BuildGather(c, v, at, last), last); };
  return {pick(sorted[0]), pick(sorted[1])};
}

void NanMedian(AtenCall& c) { c.Return(NanMedianLast(c, SampleLast(c, c.T("self"), -1))[0]); }

void NanMedianDim(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  const int dim = c.Dim("dim", rank);
  for (Value* v : NanMedianLast(c, SampleLast(c, self, dim))) {
    c.Return(c.Bool("keepdim") && rank > 0 ? Unsqueeze(c, v, dim) : v);
  }
}

void NanMean(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = c.Dtype("dtype", DTypeOf(self));
  const Ints dims = c.Dims("dim", RankOf(self));
  Value* x = Convert(c, self, Wide(dtype));
  if (!IsFloat(dtype)) return c.Return(c.Fail("the mean of integers is not defined"));
  Value* nan = c.Op(ops::isnan, {x});
  Value* zero = NumberLike(c, x, 0);
  Value* one = NumberLike(c, x, 1);
  const bool keep = c.Bool("keepdim");
  Value* sum = Reduce(c, ops::sum, Where(c, nan, zero, x), dims, keep);
  Value* count = Reduce(c, ops::sum, Where(c, nan, zero, one), dims, keep);
  c.Return(Convert(c, Div(c, sum, count), dtype));
}

// --- Counts -----------------------------------------------------------------------

SymInt SizeOf(AtenCall& c, Value* scalar) { return c.Op(ops::item, {scalar})->type().symint(); }

// The number of bins is the largest element plus one, or `minlength`.
void BinCount(AtenCall& c) {
  Value* self = Convert(c, c.T("self"), DType::kI64);
  if (RankOf(self) != 1) return c.Return(c.Fail("self is no vector"));
  // Adds an element, so that the maximum is defined.
  Value* some = Cat(c, {self, c.b().Constant(HostTensor::FromInts(DType::kI64, {1}, {-1}))}, 0);
  Value* most = Add(c, Reduce(c, ops::amax, some, {0}, false), 1);
  most = c.Op(ops::maximum, {most, SymScalar(c, c.Sym("minlength"), DType::kI64)});
  Value* weights = nullptr;
  if (c.Has("weights")) {
    weights = c.T("weights");
    if (DTypeOf(weights) != DType::kF32) weights = Convert(c, weights, DType::kF64);
  } else {
    weights = Full(c, DimsOf(self), Number(c, DType::kI64, 1));
  }
  Value* zeros = Zeros(c, {SizeOf(c, most)}, DTypeOf(weights));
  c.Return(ops::BuildScatter(c, zeros, self, weights, 0, "add"));
}

// Equal bins between min and max, which belongs to the last bin; if both are equal, the range of
// the elements.
void HistC(AtenCall& c) {
  Value* x = c.T("self");
  const DType dtype = DTypeOf(x);
  x = Convert(c, Flatten(c, x, 0, std::max(RankOf(x), 1) - 1), DType::kF64);
  const int64_t bins = c.Int("bins");
  constexpr int64_t kMaxBins = 1 << 24;
  if (bins < 1 || bins > kMaxBins) return c.Return(c.Fail("bins must be positive"));
  Value* low = Number(c, DType::kF64, c.Float("min"));
  Value* high = Number(c, DType::kF64, c.Float("max"));
  if (c.Float("min") == c.Float("max")) {
    low = Reduce(c, ops::amin, x, {0}, false);
    high = Reduce(c, ops::amax, x, {0}, false);
    Value* flat = c.Op(ops::eq, {low, high});
    low = Where(c, flat, Sub(c, low, 1), low);
    high = Where(c, flat, Add(c, high, 1), high);
  }
  Value* inside = c.Op(ops::logical_and, {c.Op(ops::ge, {x, low}), c.Op(ops::le, {x, high})});
  Value* at = Mul(c, Div(c, Sub(c, x, low), Sub(c, high, low)), static_cast<double>(bins));
  at = c.Op(ops::minimum, {c.Op(ops::floor, {at}), NumberLike(c, at, bins - 1)});
  at = Convert(c, Where(c, inside, at, NumberLike(c, at, 0)), DType::kI64);
  Value* zeros = Zeros(c, {SymInt(bins)}, dtype);
  c.Return(ops::BuildScatter(c, zeros, at, Convert(c, inside, dtype), 0, "add"));
}

// Position i, repeated repeats[i] times.
Value* RepeatedPositions(AtenCall& c, Value* repeats) {
  Value* wide = Convert(c, repeats, DType::kI64);
  const SymInt n = DimOf(wide, 0);
  Value* ends = ops::BuildCumsum(c, wide, 0);
  const SymInt total = c.Has("output_size") ? c.Sym("output_size")
                                            : SizeOf(c, Reduce(c, ops::sum, wide, {0}, false));
  Value* at = Iota(c, total);
  // The number of ends that are not above a position is its index.
  Value* above = c.Op(ops::le, {Reshape(c, ends, {SymInt(1), n}), Unsqueeze(c, at, 1)});
  return Reduce(c, ops::sum, Convert(c, above, DType::kI64), {1}, false);
}

void RepeatInterleave(AtenCall& c) {
  Value* repeats = c.T("repeats");
  c.Return(Convert(c, RepeatedPositions(c, repeats), DTypeOf(repeats)));
}

void RepeatInterleaveSelf(AtenCall& c) {
  Value* x = c.T("self");
  const bool flat = !c.Has("dim") || RankOf(x) == 0;
  if (flat) x = Flatten(c, x, 0, std::max(RankOf(x), 1) - 1);
  const int dim = flat ? 0 : c.Dim("dim", RankOf(x));
  Value* repeats = c.T("repeats");
  if (RankOf(repeats) == 0) repeats = Reshape(c, repeats, {SymInt(1)});
  if (DimOf(repeats, 0).Is(1)) repeats = Expand(c, repeats, {DimOf(x, dim)});
  Value* index = RepeatedPositions(c, repeats);
  c.Return(ops::BuildIndexSelect(c, x, index, dim));
}

// --- Areas and moments ------------------------------------------------------------

// Means of neighbours, and their distances.
Value* Trapezoids(AtenCall& c) {
  Value* y = c.T("y");
  const int rank = RankOf(y);
  const int dim = c.Dim("dim", rank);
  const auto both = [&](const OpDef& op, Value* v, int d) {
    const SymInt n = DimOf(v, d);
    return c.Op(op, {Slice(c, v, d, 1, n), Slice(c, v, d, 0, n - 1)});
  };
  Value* mean = Div(c, both(ops::add, Convert(c, y, c.PromotedFloat({"y"})), dim), 2);
  if (!HasArg(c, "x")) return Mul(c, mean, c.Float("dx"));
  Value* x = c.T("x");
  if (RankOf(x) == 1) x = AlongDim(c, x, dim, rank);
  Value* dx = both(ops::sub, x, RankOf(x) - (rank - dim));
  return Mul(c, mean, Convert(c, dx, DTypeOf(mean)));
}

void Trapezoid(AtenCall& c) {
  Value* areas = Trapezoids(c);
  c.Return(Reduce(c, ops::sum, areas, {c.Dim("dim", RankOf(areas))}, false));
}

void CumulativeTrapezoid(AtenCall& c) {
  Value* areas = Trapezoids(c);
  c.Return(ops::BuildCumsum(c, areas, c.Dim("dim", RankOf(areas))));
}

// Rows are variables, columns observations.
Value* Covariance(AtenCall& c, Value* x, double correction) {
  const int rank = RankOf(x);
  if (rank > 2) return c.Fail("self has more than two dims");
  if (rank < 2) x = Reshape(c, x, {SymInt(1), x->type().numel()});
  Value* d = Sub(c, x, Reduce(c, ops::mean, x, {1}, true));
  Value* count = SymScalar(c, DimOf(x, 1), DTypeOf(x));
  count = c.Op(ops::maximum, {Sub(c, count, correction), NumberLike(c, count, 0)});
  Value* y = Div(c, c.Op(ops::matmul, {d, Permute(c, d, {1, 0})}), count);
  return rank < 2 ? Reshape(c, y, {}) : y;
}

void Cov(AtenCall& c) {
  if (c.Has("fweights") || c.Has("aweights")) {
    return c.Return(c.Unsupported("weights of observations are not supported"));
  }
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  if (IsComplex(DTypeOf(x))) return c.Return(c.Unsupported("self is complex"));
  c.Return(Covariance(c, x, c.Float("correction")));
}

void CorrCoef(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  if (IsComplex(DTypeOf(x))) return c.Return(c.Unsupported("self is complex"));
  Value* y = Covariance(c, x, 1);
  if (RankOf(y) == 0) return c.Return(Div(c, y, y));
  const SymInt n = DimOf(y, 0);
  Value* eye = ops::BuildEye(c, n, n, /*k=*/0, DType::kBool);
  Value* variances = Reduce(c, ops::sum, Where(c, eye, y, NumberLike(c, y, 0)), {1}, false);
  Value* deviations = c.Op(ops::sqrt, {variances});
  y = Div(c, Div(c, y, Unsqueeze(c, deviations, 1)), Unsqueeze(c, deviations, 0));
  c.Return(c.Op(ops::clamp, {y, NumberLike(c, y, -1), NumberLike(c, y, 1)}));
}

constexpr AtenOp kTable[] = {
    {"bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", BinCount},
    {"corrcoef(Tensor self) -> Tensor", CorrCoef},
    {"cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? "
     "aweights=None) -> Tensor",
     Cov},
    {"cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
     CumulativeTrapezoid},
    {"cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", CumulativeTrapezoid},
    {"histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", HistC},
    {"nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     NanMean},
    {"nanmedian(Tensor self) -> Tensor", NanMedian},
    {"nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)",
     NanMedianDim},
    {"nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, "
     "str interpolation=\"linear\") -> Tensor",
     Quantile<true>},
    {"nanquantile.scalar(Tensor self, float q, int? dim=None, bool "
     "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
     Quantile<true>},
    {"quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     Quantile<false>},
    {"quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, "
     "*, str interpolation=\"linear\") -> Tensor",
     Quantile<false>},
    {"repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> "
     "Tensor",
     RepeatInterleave},
    {"repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, "
     "*, SymInt? output_size=None) -> Tensor",
     RepeatInterleaveSelf},
    {"trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", Trapezoid},
    {"trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", Trapezoid},
    {"trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", Trapezoid},
    {"trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", Trapezoid},
};

}  // namespace

absl::Span<const AtenOp> StatisticsTable() { return kTable; }

}  // namespace weft::pt2
