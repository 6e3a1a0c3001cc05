// Functions of floats on tiles. exp, tanh and erf of f32 are written out, with an error below 2
// units in the last place; others are SLEEF's, with an error of at most 1 (1.5 for erfc). Compiled
// once for each instruction set.
//
// Generated code has the same functions, instruction by instruction
// (backends/cpu/emit/prelude_math.cc), so that results are equal in every bit.
#include <immintrin.h>
#include <sleef.h>

#include "backends/cpu/kernels/tile_ops_internal.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

#if defined(__AVX512F__)
using Floats = __m512;
using Doubles = __m512d;
#define WEFT_SLEEF_F64(name, precision) Sleef_##name##d8_##precision##avx512f
#define WEFT_SLEEF(name, precision) \
  Sleef_##name##f16_##precision##avx512f, WEFT_SLEEF_F64(name, precision)
inline Floats Set(float v) { return _mm512_set1_ps(v); }
inline Doubles Set(double v) { return _mm512_set1_pd(v); }
#else
using Floats = __m256;
using Doubles = __m256d;
#define WEFT_SLEEF_F64(name, precision) Sleef_##name##d4_##precision##avx2
#define WEFT_SLEEF(name, precision) \
  Sleef_##name##f8_##precision##avx2, WEFT_SLEEF_F64(name, precision)
inline Floats Set(float v) { return _mm256_set1_ps(v); }
inline Doubles Set(double v) { return _mm256_set1_pd(v); }
#endif

// A last, partial vector is copied to a full one.
template <typename T, typename V, typename F>
inline void Apply(void* dst, const void* a, const void* b, int64_t n, F f) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(T);
  T* to = static_cast<T*>(dst);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const auto run = [&](T* out, const T* p, const T* q) {
    V u;
    V v;
    __builtin_memcpy(&u, p, sizeof u);
    __builtin_memcpy(&v, q, sizeof v);
    const V r = f(u, v);
    __builtin_memcpy(out, &r, sizeof r);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) run(to + i, x + i, y + i);
  if (i == n) return;
  T p[kLanes] = {};
  T q[kLanes] = {};
  __builtin_memcpy(p, x + i, (n - i) * sizeof(T));
  __builtin_memcpy(q, y + i, (n - i) * sizeof(T));
  run(p, p, q);
  __builtin_memcpy(to + i, p, (n - i) * sizeof(T));
}

template <auto f>
void FloatUnary(void* dst, const void* a, const void*, const void*, int64_t n) {
  Apply<float, Floats>(dst, a, a, n, [](Floats x, Floats) { return f(x); });
}
template <auto f>
void DoubleUnary(void* dst, const void* a, const void*, const void*, int64_t n) {
  Apply<double, Doubles>(dst, a, a, n, [](Doubles x, Doubles) { return f(x); });
}
template <auto f>
void FloatBinary(void* dst, const void* a, const void* b, const void*, int64_t n) {
  Apply<float, Floats>(dst, a, b, n, [](Floats x, Floats y) { return f(x, y); });
}
template <auto f>
void DoubleBinary(void* dst, const void* a, const void* b, const void*, int64_t n) {
  Apply<double, Doubles>(dst, a, b, n, [](Doubles x, Doubles y) { return f(x, y); });
}

// x * 2^n for a whole n; the result may be denormal or infinite.
inline Vec Scale(Vec x, Vec n) {
#if defined(__AVX512F__)
  return (Vec)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
  // Scales in two steps, each by a normal power of two.
  const Ints k = __builtin_convertvector(n, Ints);
  const Ints half = k >> 1;
  return x * (Vec)((half + 127) << 23) * (Vec)((k - half + 127) << 23);
#endif
}

// Reduction by Cody and Waite, and a polynomial as in Moshier's Cephes: the error is below 2 units
// in the last place.
inline Floats ExpF32(Floats v) {
  const Vec x = AtLeast(AtMost((Vec)v, Splat(89.0f)), Splat(-104.0f));
  const Vec shift = Splat(0x1.8p23f);
  const Vec n = Fma(x, Splat(1.44269504f), shift) - shift;
  const Vec r = Fma(n, Splat(2.12194440e-4f), Fma(n, Splat(-0.693359375f), x));
  const Vec p = Polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                               4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
  return (Floats)Scale(Fma(p, r * r, r) + 1.0f, n);
}

// A polynomial as in Moshier's Cephes near 0, otherwise computed from exp.
inline Floats TanhF32(Floats v) {
  const Vec x = (Vec)v;
  const Vec a = (Vec)((Ints)x & 0x7fffffff);
  const Vec far = 1.0f - 2.0f / ((Vec)ExpF32((Floats)(a + a)) + 1.0f);
  const Vec signed_far = (Vec)((Ints)far | ((Ints)x & (Ints)Splat(-0.0f)));
  const Vec z = x * x;
  const Vec p = Polynomial(z, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                               1.33314422036e-1f, -3.33332819422e-1f});
  return (Floats)(a < 0.625f ? Fma(p * z, x, x) : signed_far);
}

inline Floats ErfF32(Floats x) { return (Floats)Erf((Vec)x); }

template <typename V, typename T, auto exp>
inline V SigmoidOf(V x) {
  const V one = Set(T{1});
  return one / (one + exp(-x));
}

template <auto f, auto d>
TileFn Pick1(DType dtype) {
  if (dtype == DType::kF32) return FloatUnary<f>;
  return dtype == DType::kF64 ? DoubleUnary<d> : TileFn{nullptr};
}
template <auto f, auto d>
TileFn Pick2(DType dtype) {
  if (dtype == DType::kF32) return FloatBinary<f>;
  return dtype == DType::kF64 ? DoubleBinary<d> : TileFn{nullptr};
}

}  // namespace

TileFn FindFunction(ScalarOp op, DType dtype) {
  switch (op) {
    case ScalarOp::kExp:
      return Pick1<&ExpF32, WEFT_SLEEF_F64(exp, u10)>(dtype);
    case ScalarOp::kExp2:
      return Pick1<WEFT_SLEEF(exp2, u10)>(dtype);
    case ScalarOp::kExpm1:
      return Pick1<WEFT_SLEEF(expm1, u10)>(dtype);
    case ScalarOp::kLog:
      return Pick1<WEFT_SLEEF(log, u10)>(dtype);
    case ScalarOp::kLog2:
      return Pick1<WEFT_SLEEF(log2, u10)>(dtype);
    case ScalarOp::kLog10:
      return Pick1<WEFT_SLEEF(log10, u10)>(dtype);
    case ScalarOp::kLog1p:
      return Pick1<WEFT_SLEEF(log1p, u10)>(dtype);
    case ScalarOp::kSin:
      return Pick1<WEFT_SLEEF(sin, u10)>(dtype);
    case ScalarOp::kCos:
      return Pick1<WEFT_SLEEF(cos, u10)>(dtype);
    case ScalarOp::kTan:
      return Pick1<WEFT_SLEEF(tan, u10)>(dtype);
    case ScalarOp::kAsin:
      return Pick1<WEFT_SLEEF(asin, u10)>(dtype);
    case ScalarOp::kAcos:
      return Pick1<WEFT_SLEEF(acos, u10)>(dtype);
    case ScalarOp::kAtan:
      return Pick1<WEFT_SLEEF(atan, u10)>(dtype);
    case ScalarOp::kSinh:
      return Pick1<WEFT_SLEEF(sinh, u10)>(dtype);
    case ScalarOp::kCosh:
      return Pick1<WEFT_SLEEF(cosh, u10)>(dtype);
    case ScalarOp::kTanh:
      return Pick1<&TanhF32, WEFT_SLEEF_F64(tanh, u10)>(dtype);
    case ScalarOp::kAsinh:
      return Pick1<WEFT_SLEEF(asinh, u10)>(dtype);
    case ScalarOp::kAcosh:
      return Pick1<WEFT_SLEEF(acosh, u10)>(dtype);
    case ScalarOp::kAtanh:
      return Pick1<WEFT_SLEEF(atanh, u10)>(dtype);
    case ScalarOp::kErf:
      return Pick1<&ErfF32, WEFT_SLEEF_F64(erf, u10)>(dtype);
    case ScalarOp::kErfc:
      return Pick1<WEFT_SLEEF(erfc, u15)>(dtype);
    case ScalarOp::kLgamma:
      return Pick1<WEFT_SLEEF(lgamma, u10)>(dtype);
    case ScalarOp::kSigmoid:
      return Pick1<&SigmoidOf<Floats, float, &ExpF32>,
                   &SigmoidOf<Doubles, double, WEFT_SLEEF_F64(exp, u10)>>(dtype);
    case ScalarOp::kPow:
      return Pick2<WEFT_SLEEF(pow, u10)>(dtype);
    case ScalarOp::kAtan2:
      return Pick2<WEFT_SLEEF(atan2, u10)>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu
