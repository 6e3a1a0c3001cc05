// Vectors of f32 of the instruction set that the file is compiled for, and inline functions of
// them. As tile_ops_internal.h, only for files that are compiled once for each set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_VECTOR_MATH_H_
#define WEFT_BACKENDS_CPU_KERNELS_VECTOR_MATH_H_

#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

typedef float Vec __attribute__((vector_size(WEFT_CPU_VECTOR_BYTES)));
typedef int Ints __attribute__((vector_size(WEFT_CPU_VECTOR_BYTES)));
constexpr int64_t kLanes = WEFT_CPU_VECTOR_BYTES / sizeof(float);

// Fused multiply-add; vector expressions round the product and the sum.
inline Vec Fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
  return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#endif
}

inline Vec LoadVec(const float* from) {
  Vec v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline void StoreVec(float* to, Vec v) { __builtin_memcpy(to, &v, sizeof v); }
inline Vec Splat(float f) { return f - Vec{}; }
// A NaN stays NaN, as the second operand of these instructions. The forms with masks of all lanes
// are those of which GCC does not think that they read a vector without a value.
#if defined(__AVX512F__)
inline Vec AtLeast(Vec v, Vec least) {
  return (Vec)_mm512_maskz_max_ps(0xffff, (__m512)least, (__m512)v);
}
inline Vec AtMost(Vec v, Vec most) {
  return (Vec)_mm512_maskz_min_ps(0xffff, (__m512)most, (__m512)v);
}
#else
inline Vec AtLeast(Vec v, Vec least) { return (Vec)_mm256_max_ps((__m256)least, (__m256)v); }
inline Vec AtMost(Vec v, Vec most) { return (Vec)_mm256_min_ps((__m256)most, (__m256)v); }
#endif

inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t Up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// c[0] x^(n-1) + ... + c[n-1]
template <int n>
inline Vec Polynomial(Vec x, const float (&c)[n]) {
  Vec p = Splat(c[0]);
  for (int i = 1; i < n; ++i) p = Fma(p, x, Splat(c[i]));
  return p;
}

// Error below 2 units in the last place; infinite above 88.8. The parts of ln(2) are subtracted one
// by one; the rest is Taylor's series.
inline Vec ExpRest(Vec x, Vec n) {
  const Vec r = Fma(n, Splat(-1.42860677e-6f), Fma(n, Splat(-0.693145752f), x));
  return Polynomial(r,
                    {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f});
}
#if defined(__AVX512F__)
inline Vec Exp(Vec x) {
  const Vec inside = AtMost(AtLeast(x, Splat(-104.0f)), Splat(89.0f));
  const Vec n = (Vec)_mm512_maskz_roundscale_ps(0xffff, (__m512)(inside * Splat(1.44269504f)),
                                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return (Vec)_mm512_maskz_scalef_ps(0xffff, (__m512)ExpRest(inside, n), (__m512)n);
}
#else
// 0 if the result would be denormal.
inline Vec Exp(Vec x) {
  const Vec big = Splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer.
  const Vec inside = AtMost(AtLeast(x, Splat(-87.3f)), Splat(89.0f));
  const Vec rounded = Fma(inside, Splat(1.44269504f), big);
  const Ints power = ((Ints)rounded - (Ints)big + 127) << 23;
  return x < Splat(-87.3f) ? Vec{} : ExpRest(inside, rounded - big) * (Vec)power;
}
#endif

inline Vec Sigmoid(Vec v) { return 1.0f / (1.0f + Exp(-v)); }

// a / b up to a unit in the last place, where b and 1 / b are normal numbers.
inline Vec Quotient(Vec a, Vec b) {
#if defined(__AVX512F__)
  const Vec first = (Vec)_mm512_maskz_rcp14_ps(0xffff, (__m512)b);
  const Vec inverse = Fma(Fma(-first, b, Splat(1.0f)), first, first);
  const Vec q = a * inverse;
  return Fma(Fma(-q, b, a), inverse, q);
#else
  return a / b;
#endif
}

// An odd rational function on [-4, 4]; outside of it erf is 1 to the last place. The coefficients
// are Eigen's.
struct Fraction {
  Vec numerator, denominator;
};
inline Fraction ErfFraction(Vec x) {
  const Vec in = AtMost(AtLeast(x, Splat(-4.0f)), Splat(4.0f));
  const Vec z = in * in;
  const Vec p =
      Polynomial(z, {-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
                     -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                     -1.60960333262415e-02f});
  const Vec q =
      Polynomial(z, {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                     -7.37332916720468e-03f, -1.42647390514189e-02f});
  return {in * p, q};
}
inline Vec Erf(Vec x) {
  const Fraction f = ErfFraction(x);
  return f.numerator / f.denominator;
}

// A polynomial as in Moshier's Cephes near 0, otherwise computed from exp.
inline Vec Tanh(Vec x) {
  const Vec a = (Vec)((Ints)x & 0x7fffffff);
  const Vec far = 1.0f - 2.0f / (Exp(a + a) + 1.0f);
  const Vec signed_far = (Vec)((Ints)far | ((Ints)x & (Ints)Splat(-0.0f)));
  const Vec z = x * x;
  const Vec p = Polynomial(z, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                               1.33314422036e-1f, -3.33332819422e-1f});
  return a < Splat(0.625f) ? Fma(p * z, x, x) : signed_far;
}

// Indices by which vector i of a transposed block takes its elements from two vectors that are
// `kStep` apart: the even or the odd blocks of kStep elements.
template <int kStep>
inline Ints Interleaved(bool odd) {
  Ints from;
  for (int k = 0; k < kLanes; ++k) {
    const bool second = (k / kStep) % 2 == 1;
    const int within = second ? k - kStep : k;
    from[k] = within + (odd ? kStep : 0) + (second ? kLanes : 0);
  }
  return from;
}

// Transposes a square of vectors.
template <int kStep>
inline void TransposeSquare(Vec* v) {
  if constexpr (kStep < kLanes) {
    const Ints even = Interleaved<kStep>(false);
    const Ints odd = Interleaved<kStep>(true);
    for (int i = 0; i < kLanes; ++i) {
      if (i & kStep) continue;
      const Vec a = v[i];
      const Vec b = v[i + kStep];
      v[i] = __builtin_shuffle(a, b, even);
      v[i + kStep] = __builtin_shuffle(a, b, odd);
    }
    TransposeSquare<kStep * 2>(v);
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_VECTOR_MATH_H_
