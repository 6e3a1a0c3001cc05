// Functions of a float on tiles, by SLEEF: at most 1 unit in the last place (1.5 for
// erfc). Compiled once for each instruction set.
#include <immintrin.h>
#include <sleef.h>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

#if defined(__AVX512F__)
using Floats = __m512;
using Doubles = __m512d;
#define WEFT_SLEEF(name, precision) \
  Sleef_##name##f16_##precision##avx512f, Sleef_##name##d8_##precision##avx512f
inline Floats Set(float v) { return _mm512_set1_ps(v); }
inline Doubles Set(double v) { return _mm512_set1_pd(v); }
#else
using Floats = __m256;
using Doubles = __m256d;
#define WEFT_SLEEF(name, precision) \
  Sleef_##name##f8_##precision##avx2, Sleef_##name##d4_##precision##avx2
inline Floats Set(float v) { return _mm256_set1_ps(v); }
inline Doubles Set(double v) { return _mm256_set1_pd(v); }
#endif

// The last values, fewer than a vector, take a detour over a full one.
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
template <auto f, auto d>
TileFn PickSigmoid(DType dtype) {
  return Pick1<&SigmoidOf<Floats, float, f>, &SigmoidOf<Doubles, double, d>>(dtype);
}

}  // namespace

TileFn FindFunction(ScalarOp op, DType dtype) {
  switch (op) {
    case ScalarOp::kExp:
      return Pick1<WEFT_SLEEF(exp, u10)>(dtype);
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
      return Pick1<WEFT_SLEEF(tanh, u10)>(dtype);
    case ScalarOp::kAsinh:
      return Pick1<WEFT_SLEEF(asinh, u10)>(dtype);
    case ScalarOp::kAcosh:
      return Pick1<WEFT_SLEEF(acosh, u10)>(dtype);
    case ScalarOp::kAtanh:
      return Pick1<WEFT_SLEEF(atanh, u10)>(dtype);
    case ScalarOp::kErf:
      return Pick1<WEFT_SLEEF(erf, u10)>(dtype);
    case ScalarOp::kErfc:
      return Pick1<WEFT_SLEEF(erfc, u15)>(dtype);
    case ScalarOp::kLgamma:
      return Pick1<WEFT_SLEEF(lgamma, u10)>(dtype);
    case ScalarOp::kSigmoid:
      return PickSigmoid<WEFT_SLEEF(exp, u10)>(dtype);
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
