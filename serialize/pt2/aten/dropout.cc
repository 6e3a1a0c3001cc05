// Operators that are random only in training: dropout, and slopes of rrelu.
#include <cmath>

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/random_numbers.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// --- Dropout ----------------------------------------------------------------------

bool DropsNothing(AtenCall& c) { return !c.Bool("train", true) || c.Float("p") == 0; }

Value* InputOf(AtenCall& c) { return c.T(c.schema().args[0].name); }

// The sizes of the mask: all elements, or one per channel.
using MaskSize = SymInts (*)(const Value*);

SymInts EachElement(const Value* x) { return DimsOf(x); }

SymInts EachChannel(const Value* x) {
  SymInts size = DimsOf(x);
  for (size_t i = 2; i < size.size(); ++i) size[i] = 1;
  return size;
}

template <MaskSize size>
Value* DropoutOf(AtenCall& c) {
  Value* x = InputOf(c);
  if (DropsNothing(c)) return x;
  const double p = c.Float("p");
  return Dropped(c, x, KeepMask(c, size(x), p), p);
}

// Dropped elements become the least value of selu, and all elements are scaled so that mean and
// variance are unchanged.
template <MaskSize size>
Value* AlphaDropoutOf(AtenCall& c) {
  Value* x = InputOf(c);
  if (DropsNothing(c)) return x;
  const double p = c.Float("p");
  if (p >= 1) return Mul(c, x, 0.0);
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const double shift = kAlpha * a * p;
  Value* mask = KeepMask(c, size(x), p);
  return Where(c, mask, Add(c, Mul(c, x, a), shift), NumberLike(c, x, shift - kAlpha * a));
}

using DropoutFn = Value* (*)(AtenCall&);

template <DropoutFn fn>
void Dropout(AtenCall& c) {
  c.Return(fn(c));
}

template <DropoutFn fn>
void DropoutInPlace(AtenCall& c) {
  Value* y = fn(c);
  c.Return(y);
  if (!DropsNothing(c)) c.Write("self", y);
}

void NativeDropout(AtenCall& c) {
  Value* x = c.T("input");
  const double p = c.Float("p");
  if (!c.Bool("train", true)) {
    c.Return(x);
    return c.Return(Full(c, DimsOf(x), Number(c, DType::kBool, 1)));
  }
  Value* mask = KeepMask(c, DimsOf(x), p);
  c.Return(Dropped(c, x, mask, p));
  c.Return(mask);
}

// --- Leaky with random slopes -----------------------------------------------------

Value* MeanSlope(AtenCall& c, Value* x) {
  return c.Op(ops::leaky_relu, {x},
              {{"negative_slope", (c.Float("lower") + c.Float("upper")) / 2}});
}

// The slopes; 1 for positive elements.
Value* Slopes(AtenCall& c, Value* x) {
  const double lower = c.Float("lower");
  Value* u = Uniform(c, DimsOf(x), Drawable(DTypeOf(x)));
  Value* slopes = Add(c, Mul(c, u, c.Float("upper") - lower), lower);
  Value* low = c.Op(ops::le, {x, NumberLike(c, x, 0)});
  return Where(c, low, slopes, NumberLike(c, slopes, 1));
}

void Rrelu(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(c.Bool("training") ? Mul(c, x, Slopes(c, x)) : MeanSlope(c, x));
}

void RreluWithNoise(AtenCall& c) {
  Value* x = c.T("self");
  if (!c.Bool("training")) return c.Return(MeanSlope(c, x));
  Value* slopes = Slopes(c, x);
  c.Return(Mul(c, x, slopes));
  c.Write("noise", slopes);
}

void RreluFunctional(AtenCall& c) {
  Value* x = c.T("self");
  Value* slopes = c.Bool("training") ? Slopes(c, x) : c.T("noise");
  c.Return(c.Bool("training") ? Mul(c, x, slopes) : MeanSlope(c, x));
  c.Return(slopes);
}

constexpr AtenOp kTable[] = {
    {"alpha_dropout(Tensor input, float p, bool train) -> Tensor",
     Dropout<AlphaDropoutOf<EachElement>>},
    {"alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     DropoutInPlace<AlphaDropoutOf<EachElement>>},
    {"dropout(Tensor input, float p, bool train) -> Tensor", Dropout<DropoutOf<EachElement>>},
    {"dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     DropoutInPlace<DropoutOf<EachElement>>},
    {"feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
     Dropout<AlphaDropoutOf<EachChannel>>},
    {"feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     DropoutInPlace<AlphaDropoutOf<EachChannel>>},
    {"feature_dropout(Tensor input, float p, bool train) -> Tensor",
     Dropout<DropoutOf<EachChannel>>},
    {"feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     DropoutInPlace<DropoutOf<EachChannel>>},
    {"native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", NativeDropout},
    {"rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
     "training=False, Generator? generator=None) -> Tensor",
     Rrelu},
    {"rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor",
     RreluWithNoise},
    {"rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, "
     "Tensor noise_out)",
     RreluFunctional},
};

}  // namespace

absl::Span<const AtenOp> DropoutTable() { return kTable; }

}  // namespace weft::pt2
