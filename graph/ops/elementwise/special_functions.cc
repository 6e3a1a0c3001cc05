// Special functions as ops: loops around those of special.h. None of them is composed of other ops.
#include <math.h>

#include <cmath>

#include "graph/ops/elementwise/special.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

constexpr OpSpec FloatFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferUnaryFloat);
}

constexpr OpSpec BinaryFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferBinaryFloat);
}

template <double (*f)(double)>
absl::Status EvalOf(EvalContext& c) {
  return EvalUnaryFloat(c, f);
}

template <double (*f)(double, double)>
absl::Status EvalOf2(EvalContext& c) {
  return EvalBinaryFloat(c, f);
}

double BesselI0(double x) { return BesselIe(0, x) * std::exp(std::fabs(x)); }
double BesselI0e(double x) { return BesselIe(0, x); }
double BesselI1(double x) { return x == 0 ? x : BesselIe(1, x) * std::exp(std::fabs(x)); }
double BesselI1e(double x) { return BesselIe(1, x); }
// The functions of C, but the second kind is NaN for x < 0 without a floating-point exception.
double BesselJ0(double x) { return ::j0(x); }
double BesselJ1(double x) { return ::j1(x); }
double BesselY0(double x) { return x < 0 ? NAN : ::y0(x); }
double BesselY1(double x) { return x < 0 ? NAN : ::y1(x); }

absl::Status VerifyPolygamma(const OpArgs& args) {
  const int64_t n = args.attrs().Int("n");
  constexpr int64_t kMost = 1000;
  if (n >= 0 && n <= kMost) return absl::OkStatus();
  return Invalid("n must be 0 to ", kMost, ", got ", n);
}

absl::Status EvalPolygamma(EvalContext& c) {
  const int n = static_cast<int>(c.attrs().Int("n"));
  return EvalUnaryFloat(c, [n](double x) { return Polygamma(n, x); });
}

}  // namespace

WEFT_DEFINE_OP(digamma, FloatFunction("digamma(Tensor self) -> Tensor",
                                      "The derivative of lgamma. ATen: aten::digamma.")
                            .Eval(EvalOf<Digamma>)
                            .Samples(R"(
digamma(f32[2, 3]{0.1..9})
digamma(f64[4]{-3..0})
digamma(bf16[5])
digamma(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(polygamma, FloatFunction("polygamma(Tensor self, int n) -> Tensor",
                                        "Derivative `n` of digamma. ATen: "
                                        "aten::polygamma.")
                              .Verify(VerifyPolygamma)
                              .Eval(EvalPolygamma)
                              .Samples(R"(
polygamma(f32[2, 3]{0.1..9}, n=1)
polygamma(f64[4]{-3..3}, n=1)
polygamma(f64[4]{0.5..9}, n=4)
polygamma(f16[5]{1..2}, n=0)
polygamma(f32[2], n=-1) ! "n must be 0 to 1000, got -1"
polygamma(i32[2], n=1) ! "float"
)"));

WEFT_DEFINE_OP(zeta, BinaryFunction("zeta(Tensor self, Tensor other) -> Tensor",
                                    "The sum of (n + other)^-self over n = 0, 1, ... "
                                    "ATen: aten::special_zeta.")
                         .Eval(EvalOf2<Zeta>)
                         .Samples(R"(
zeta(f32[2, 3]{1.1..9}, f32[3]{0.1..3})
zeta(f64[4]{2, 3, 2, 4}, f64[4]{-0.5, 1, 2, -2.5})
zeta(i32[2], i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(erfinv, FloatFunction("erfinv(Tensor self) -> Tensor",
                                     "The inverse of erf; NaN outside of [-1, 1]. "
                                     "ATen: aten::erfinv.")
                           .Eval(EvalOf<Erfinv>)
                           .Samples(R"(
erfinv(f32[2, 3]{-1..1})
erfinv(f64[5]{-1, 0, 0.999999, 1, 2})
erfinv(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(erfcx, FloatFunction("erfcx(Tensor self) -> Tensor",
                                    "exp(self^2) (1 - erf(self)). ATen: "
                                    "aten::special_erfcx.")
                          .Eval(EvalOf<Erfcx>)
                          .Samples(R"(
erfcx(f32[2, 3])
erfcx(f64[4]{-30..60})
erfcx(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(ndtri, FloatFunction("ndtri(Tensor self) -> Tensor",
                                    "The inverse of the normal distribution function; "
                                    "NaN outside of [0, 1]. ATen: aten::special_ndtri.")
                          .Eval(EvalOf<Ndtri>)
                          .Samples(R"(
ndtri(f32[2, 3]{0..1})
ndtri(f64[5]{0, 1e-9, 0.5, 1, 2})
ndtri(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_i0, FloatFunction("bessel_i0(Tensor self) -> Tensor",
                                        "The modified Bessel function of the first kind, "
                                        "order 0. ATen: aten::i0.")
                              .Eval(EvalOf<BesselI0>)
                              .Samples(R"(
bessel_i0(f32[2, 3])
bessel_i0(f64[4]{-80..80})
bessel_i0(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_i0e, FloatFunction("bessel_i0e(Tensor self) -> Tensor",
                                         "bessel_i0 by exp(-|self|). ATen: "
                                         "aten::special_i0e.")
                               .Eval(EvalOf<BesselI0e>)
                               .Samples(R"(
bessel_i0e(f32[2, 3])
bessel_i0e(f64[4]{-80..80})
bessel_i0e(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_i1, FloatFunction("bessel_i1(Tensor self) -> Tensor",
                                        "The modified Bessel function of the first kind, "
                                        "order 1. ATen: aten::special_i1.")
                              .Eval(EvalOf<BesselI1>)
                              .Samples(R"(
bessel_i1(f32[2, 3])
bessel_i1(f64[4]{-80..80})
bessel_i1(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_i1e, FloatFunction("bessel_i1e(Tensor self) -> Tensor",
                                         "bessel_i1 by exp(-|self|). ATen: "
                                         "aten::special_i1e.")
                               .Eval(EvalOf<BesselI1e>)
                               .Samples(R"(
bessel_i1e(f32[2, 3])
bessel_i1e(f64[4]{-80..80})
bessel_i1e(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_j0, FloatFunction("bessel_j0(Tensor self) -> Tensor",
                                        "The Bessel function of the first kind, order 0. "
                                        "ATen: aten::special_bessel_j0.")
                              .Eval(EvalOf<BesselJ0>)
                              .Samples(R"(
bessel_j0(f32[2, 3])
bessel_j0(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_j1, FloatFunction("bessel_j1(Tensor self) -> Tensor",
                                        "The Bessel function of the first kind, order 1. "
                                        "ATen: aten::special_bessel_j1.")
                              .Eval(EvalOf<BesselJ1>)
                              .Samples(R"(
bessel_j1(f32[2, 3])
bessel_j1(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_y0, FloatFunction("bessel_y0(Tensor self) -> Tensor",
                                        "The Bessel function of the second kind, order 0. "
                                        "ATen: aten::special_bessel_y0.")
                              .Eval(EvalOf<BesselY0>)
                              .Samples(R"(
bessel_y0(f32[2, 3]{0.1..9})
bessel_y0(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(bessel_y1, FloatFunction("bessel_y1(Tensor self) -> Tensor",
                                        "The Bessel function of the second kind, order 1. "
                                        "ATen: aten::special_bessel_y1.")
                              .Eval(EvalOf<BesselY1>)
                              .Samples(R"(
bessel_y1(f32[2, 3]{0.1..9})
bessel_y1(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(igamma, BinaryFunction("igamma(Tensor self, Tensor other) -> Tensor",
                                      "The regularized lower incomplete gamma function "
                                      "of shape self at other. ATen: aten::igamma.")
                           .Eval(EvalOf2<GammaP>)
                           .Samples(R"(
igamma(f32[2, 3]{0.1..9}, f32[3]{0..9})
igamma(f64[4]{1, 2, 50, 0}, f64[4]{0, 1, 60, 1})
igamma(i32[2], i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(igammac, BinaryFunction("igammac(Tensor self, Tensor other) -> Tensor",
                                       "1 - igamma. ATen: aten::igammac.")
                            .Eval(EvalOf2<GammaQ>)
                            .Samples(R"(
igammac(f32[2, 3]{0.1..9}, f32[3]{0..9})
igammac(f64[4]{1, 2, 50, 0}, f64[4]{0, 1, 60, 1})
igammac(i32[2], i32[2]) ! "float"
)"));

}  // namespace weft::ops
