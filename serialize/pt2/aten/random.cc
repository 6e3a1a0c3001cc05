// Random numbers: each call draws from the program's state. The distributions are PyTorch's, the
// numbers are not.
#include "graph/ops/random.h"

#include <cmath>
#include <limits>

#include "graph/ir/builder.h"
#include "graph/ops/index.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/random_numbers.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {

Value* Uniform(AtenCall& c, absl::Span<const SymInt> size, DType dtype) {
  const AtenCall::Draw draw = c.NextDraw();
  return ops::BuildRand(c, draw.state, size, draw.number, dtype);
}

Value* Normal(AtenCall& c, absl::Span<const SymInt> size, DType dtype) {
  const AtenCall::Draw draw = c.NextDraw();
  return ops::BuildRandn(c, draw.state, size, draw.number, dtype);
}

DType Drawable(DType dtype) {
  return IsFloat(dtype) && DTypeBits(dtype) >= 16 ? dtype : DType::kF32;
}

Value* KeepMask(AtenCall& c, absl::Span<const SymInt> size, double p) {
  Value* u = Uniform(c, size, DType::kF32);
  return c.Op(ops::ge, {u, NumberLike(c, u, p)});
}

Value* Dropped(AtenCall& c, Value* x, Value* mask, double p) {
  if (p >= 1) return Mul(c, x, 0.0);
  Value* kept = Mul(c, x, 1 / (1 - p));
  return Where(c, mask, kept, NumberLike(c, x, 0));
}

namespace {

Value* Bits(AtenCall& c, absl::Span<const SymInt> size) {
  const AtenCall::Draw draw = c.NextDraw();
  return ops::BuildRandomBits(c, draw.state, size, draw.number);
}

// Uniform in (0, 1], so that the logarithm is finite.
Value* Positive(AtenCall& c, const Value* like, DType dtype) {
  Value* u = Uniform(c, DimsOf(like), dtype);
  return Sub(c, NumberLike(c, u, 1), u);
}

// Integers in [low, low + range): the low 63 bits, modulo the range.
Value* Integers(AtenCall& c, absl::Span<const SymInt> size, SymInt low, SymInt range) {
  if (range.is_constant() && range.value() <= 0) return c.Fail("no integer is in the range");
  Value* bits = Bits(c, size);
  Value* most =
      c.b().Constant(HostTensor::ScalarInt(DType::kI64, std::numeric_limits<int64_t>::max()));
  Value* positive = c.Op(ops::bitwise_and, {bits, most});
  Value* within = c.Op(ops::fmod, {positive, SymScalar(c, range, DType::kI64)});
  return Add(c, within, SymScalar(c, low, DType::kI64));
}

// --- Uniform and normal numbers ---------------------------------------------------

using Draws = Value* (*)(AtenCall&, absl::Span<const SymInt>, DType);

template <Draws draws>
void OfSize(AtenCall& c) {
  c.Return(draws(c, c.Syms("size"), c.Dtype("dtype", DType::kF32)));
}

template <Draws draws>
void OfLike(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(draws(c, DimsOf(self), c.Dtype("dtype", DTypeOf(self))));
}

void UniformFrom(AtenCall& c) {
  Value* self = c.T("self");
  const double from = c.Float("from");
  Value* u = Uniform(c, DimsOf(self), Drawable(DTypeOf(self)));
  c.Return(Convert(c, Add(c, Mul(c, u, c.Float("to") - from), from), DTypeOf(self)));
}

Value* NormalOf(AtenCall& c, absl::Span<const SymInt> size, DType dtype, double mean, double std) {
  return Add(c, Mul(c, Normal(c, size, dtype), std), mean);
}

void NormalLike(AtenCall& c) {
  Value* self = c.T("self");
  Value* z = NormalOf(c, DimsOf(self), Drawable(DTypeOf(self)), c.Float("mean"), c.Float("std"));
  c.Return(Convert(c, z, DTypeOf(self)));
}

void NormalInPlace(AtenCall& c) {
  NormalLike(c);
  c.Write("self", c.results()[0].value);
}

void NormalOfSize(AtenCall& c) {
  c.Return(
      NormalOf(c, c.Syms("size"), c.Dtype("dtype", DType::kF32), c.Float("mean"), c.Float("std")));
}

// Either argument may be a tensor, or both.
void NormalOfTensors(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"mean", "std"});
  Value* mean = c.As("mean", dtype);
  Value* std = c.As("std", dtype);
  const SymInts size = BroadcastDims(DimsOf(mean), DimsOf(std));
  c.Return(Add(c, Mul(c, Normal(c, size, dtype), std), mean));
}

void LogNormal(AtenCall& c) {
  NormalLike(c);
  Arg& z = c.results()[0];
  z.value = c.Op(ops::exp, {z.value});
}

// --- Other distributions, by inversion --------------------------------------------

void Exponential(AtenCall& c) {
  Value* self = c.T("self");
  Value* u = Positive(c, self, Drawable(DTypeOf(self)));
  c.Return(Convert(c, Mul(c, c.Op(ops::log, {u}), -1 / c.Float("lambd")), DTypeOf(self)));
}

void Cauchy(AtenCall& c) {
  Value* self = c.T("self");
  constexpr double kPi = 3.141592653589793;
  Value* u = Uniform(c, DimsOf(self), Drawable(DTypeOf(self)));
  Value* y = c.Op(ops::tan, {Mul(c, Sub(c, u, 0.5), kPi)});
  c.Return(Convert(c, Add(c, Mul(c, y, c.Float("sigma")), c.Float("median")), DTypeOf(self)));
}

// Trials until the first success: 1, 2, ...
void Geometric(AtenCall& c) {
  Value* self = c.T("self");
  const double p = c.Float("p");
  if (!(p > 0 && p < 1)) return c.Return(c.Fail("p is not between 0 and 1"));
  Value* u = Positive(c, self, DType::kF32);
  Value* n = c.Op(ops::ceil, {Div(c, c.Op(ops::log, {u}), std::log1p(-p))});
  n = c.Op(ops::maximum, {n, NumberLike(c, n, 1)});
  c.Return(Convert(c, n, DTypeOf(self)));
}

// 1 with probability `p`, a tensor that broadcasts to `size`.
Value* Bernoulli(AtenCall& c, absl::Span<const SymInt> size, Value* p, DType dtype) {
  Value* u = Uniform(c, size, DTypeOf(p) == DType::kF64 ? DType::kF64 : DType::kF32);
  return Convert(c, c.Op(ops::lt, {u, Convert(c, p, DTypeOf(u))}), dtype);
}

void BernoulliOfSelf(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Bernoulli(c, DimsOf(self), self, DTypeOf(self)));
}

void BernoulliOfNumber(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Bernoulli(c, DimsOf(self), Number(c, DType::kF64, c.Float("p")), DTypeOf(self)));
}

void BernoulliInPlace(AtenCall& c) {
  BernoulliOfNumber(c);
  c.Write("self", c.results()[0].value);
}

void BernoulliOfTensor(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Bernoulli(c, DimsOf(self), c.T("p"), DTypeOf(self)));
}

// --- Integers ---------------------------------------------------------------------

// The schemas' default is the number 4, which is int64 in PyTorch's numbering.
DType IntegerDType(AtenCall& c) {
  return c.arg("dtype").is(Arg::Kind::kInt) ? DType::kI64 : c.Dtype("dtype", DType::kI64);
}

SymInt LowOf(AtenCall& c) { return c.schema().Find("low") >= 0 ? c.Sym("low") : SymInt(0); }

void RandInt(AtenCall& c) {
  const SymInt low = LowOf(c);
  Value* y = Integers(c, c.Syms("size"), low, c.Sym("high") - low);
  c.Return(Convert(c, y, IntegerDType(c)));
}

void RandIntLike(AtenCall& c) {
  Value* self = c.T("self");
  const SymInt low = LowOf(c);
  Value* y = Integers(c, DimsOf(self), low, c.Sym("high") - low);
  c.Return(Convert(c, y, c.Dtype("dtype", DTypeOf(self))));
}

// The largest integer of the dtype; for floats, up to which all integers are exact.
int64_t MostOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return int64_t{1} << 53;
    case DType::kF32:
      return int64_t{1} << 24;
    case DType::kF16:
      return int64_t{1} << 11;
    case DType::kBF16:
      return int64_t{1} << 8;
    case DType::kBool:
      return 1;
    default:
      return IntMax(dtype);
  }
}

void Random(AtenCall& c) {
  Value* self = c.T("self");
  const bool has_from = c.schema().Find("from") >= 0;
  const bool has_to = c.schema().Find("to") >= 0 && c.Has("to");
  const int64_t from = has_from ? c.Int("from") : 0;
  const int64_t most = MostOf(DTypeOf(self));
  // Without an end the range includes the largest number, if it can be expressed.
  const int64_t end = has_to                                        ? c.Int("to")
                      : most == std::numeric_limits<int64_t>::max() ? most
                                                                    : most + 1;
  int64_t range = 0;
  if (__builtin_sub_overflow(end, from, &range)) {
    return c.Return(c.Unsupported("the range has more than 2^63 integers"));
  }
  c.Return(Convert(c, Integers(c, DimsOf(self), from, range), DTypeOf(self)));
}

// A random permutation: the order of n random numbers.
void RandPerm(AtenCall& c) {
  const SymInt n = c.Sym("n");
  const auto sorted = ops::BuildSort(c, Bits(c, {n}), 0);
  c.Return(Convert(c, sorted[1], IntegerDType(c)));
}

// Samples without replacement: the largest quotients of probabilities and exponential numbers.
Value* DistinctSamples(AtenCall& c, Value* p, SymInt n) {
  Value* e = c.Op(ops::neg, {c.Op(ops::log, {Positive(c, p, DTypeOf(p))})});
  // u = 1 gives 0 and an infinite quotient, which is the largest.
  Value* score = Div(c, p, e);
  score = Where(c, c.Op(ops::eq, {p, NumberLike(c, p, 0)}), NumberLike(c, p, -1), score);
  return ops::BuildTopk(c, score, n, -1)[1];
}

// Samples with replacement: the positions of uniform numbers among the cumulative sums. An element
// with probability 0 is never chosen.
Value* RepeatedSamples(AtenCall& c, Value* p, SymInt n) {
  const int last = RankOf(p) - 1;
  Value* sums = ops::BuildCumsum(c, p, last);
  Value* total = Slice(c, sums, last, DimOf(p, last) - 1, DimOf(p, last));
  SymInts size = DimsOf(p);
  size[last] = n;
  Value* u = Uniform(c, size, DTypeOf(p));
  return ops::BuildSearchsorted(c, Div(c, sums, total), u, /*right=*/true);
}

void Multinomial(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  if (rank != 1 && rank != 2) return c.Return(c.Fail("self has neither one dim nor two"));
  if (!IsFloat(DTypeOf(self))) return c.Return(c.Fail("probabilities are floats"));
  Value* p = Convert(c, self, DType::kF64);
  const SymInt n = c.Sym("num_samples");
  c.Return(c.Bool("replacement") ? RepeatedSamples(c, p, n) : DistinctSamples(c, p, n));
}

#define WEFT_OPTIONS                                      \
  "ScalarType? dtype=None, Layout? layout=None, Device? " \
  "device=None, bool? pin_memory=None"
#define WEFT_INTEGERS \
  "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define WEFT_LIKE WEFT_OPTIONS ", MemoryFormat? memory_format=None"
#define WEFT_GENERATOR "Generator? generator=None"

constexpr AtenOp kTable[] = {
    {"bernoulli(Tensor self, *, " WEFT_GENERATOR ") -> Tensor", BernoulliOfSelf},
    {"bernoulli.Tensor(Tensor self, Tensor p, *, " WEFT_GENERATOR ") -> Tensor", BernoulliOfTensor},
    {"bernoulli.p(Tensor self, float p, *, " WEFT_GENERATOR ") -> Tensor", BernoulliOfNumber},
    {"bernoulli_.float(Tensor(a!) self, float p=0.5, *, " WEFT_GENERATOR ") -> Tensor(a!)",
     BernoulliInPlace},
    {"cauchy(Tensor self, float median=0., float sigma=1., *, " WEFT_GENERATOR ") -> Tensor",
     Cauchy},
    {"exponential(Tensor self, float lambd=1., *, " WEFT_GENERATOR ") -> Tensor", Exponential},
    {"geometric(Tensor self, float p, *, " WEFT_GENERATOR ") -> Tensor", Geometric},
    {"log_normal(Tensor self, float mean=1., float std=2., *, " WEFT_GENERATOR ") -> Tensor",
     LogNormal},
    {"multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, " WEFT_GENERATOR
     ") -> Tensor",
     Multinomial},
    {"normal.Tensor_Tensor(Tensor mean, Tensor std, *, " WEFT_GENERATOR ") -> Tensor",
     NormalOfTensors},
    {"normal.Tensor_float(Tensor mean, float std=1., *, " WEFT_GENERATOR ") -> Tensor",
     NormalOfTensors},
    {"normal.float_Tensor(float mean, Tensor std, *, " WEFT_GENERATOR ") -> Tensor",
     NormalOfTensors},
    {"normal.float_float(float mean, float std, SymInt[] size, *, " WEFT_GENERATOR ", " WEFT_OPTIONS
     ") -> Tensor",
     NormalOfSize},
    {"normal_(Tensor(a!) self, float mean=0., float std=1., *, " WEFT_GENERATOR ") -> Tensor(a!)",
     NormalInPlace},
    {"normal_functional(Tensor self, float mean=0., float std=1., *, " WEFT_GENERATOR ") -> Tensor",
     NormalLike},
    {"rand(SymInt[] size, *, " WEFT_OPTIONS ") -> Tensor", OfSize<Uniform>},
    {"rand_like(Tensor self, *, " WEFT_LIKE ") -> Tensor", OfLike<Uniform>},
    {"randint(SymInt high, SymInt[] size, *, " WEFT_INTEGERS ") -> Tensor", RandInt},
    {"randint.low(SymInt low, SymInt high, SymInt[] size, *, " WEFT_INTEGERS ") -> Tensor",
     RandInt},
    {"randint_like(Tensor self, SymInt high, *, " WEFT_LIKE ") -> Tensor", RandIntLike},
    {"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " WEFT_LIKE ") -> Tensor",
     RandIntLike},
    {"randn(SymInt[] size, *, " WEFT_OPTIONS ") -> Tensor", OfSize<Normal>},
    {"randn_like(Tensor self, *, " WEFT_LIKE ") -> Tensor", OfLike<Normal>},
    {"random(Tensor self, *, " WEFT_GENERATOR ") -> Tensor", Random},
    {"random.from(Tensor self, int from, int? to, *, " WEFT_GENERATOR ") -> Tensor", Random},
    {"random.to(Tensor self, int to, *, " WEFT_GENERATOR ") -> Tensor", Random},
    {"randperm(SymInt n, *, " WEFT_INTEGERS ") -> Tensor", RandPerm},
    {"uniform(Tensor self, float from=0., float to=1., *, " WEFT_GENERATOR ") -> Tensor",
     UniformFrom},
};

#undef WEFT_OPTIONS
#undef WEFT_INTEGERS
#undef WEFT_LIKE
#undef WEFT_GENERATOR

}  // namespace

absl::Span<const AtenOp> RandomTable() { return kTable; }

}  // namespace weft::pt2
