// What every emitted unit starts with: types, loads and stores of whole and
// partial vectors, conversions, and the functions of the math library.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lowering/emit_cc/internal.h"

namespace weft::cc {
namespace {

constexpr MathFn kMathFns[] = {
    {ScalarOp::kExp, "exp", "u10"},     {ScalarOp::kExp2, "exp2", "u10"},
    {ScalarOp::kExpm1, "expm1", "u10"}, {ScalarOp::kLog, "log", "u10"},
    {ScalarOp::kLog2, "log2", "u10"},   {ScalarOp::kLog10, "log10", "u10"},
    {ScalarOp::kLog1p, "log1p", "u10"}, {ScalarOp::kSin, "sin", "u10"},
    {ScalarOp::kCos, "cos", "u10"},     {ScalarOp::kTan, "tan", "u10"},
    {ScalarOp::kAsin, "asin", "u10"},   {ScalarOp::kAcos, "acos", "u10"},
    {ScalarOp::kAtan, "atan", "u10"},   {ScalarOp::kSinh, "sinh", "u10"},
    {ScalarOp::kCosh, "cosh", "u10"},   {ScalarOp::kTanh, "tanh", "u10"},
    {ScalarOp::kAsinh, "asinh", "u10"}, {ScalarOp::kAcosh, "acosh", "u10"},
    {ScalarOp::kAtanh, "atanh", "u10"}, {ScalarOp::kErf, "erf", "u10"},
    {ScalarOp::kErfc, "erfc", "u15"},   {ScalarOp::kLgamma, "lgamma", "u10"},
    {ScalarOp::kPow, "pow", "u10", 2},  {ScalarOp::kAtan2, "atan2", "u10", 2},
    {ScalarOp::kFmod, "fmod", "", 2},
};

// LANES stands for a number.
constexpr char kTypes[] = R"(
typedef float f32; typedef double f64;
typedef signed char i8; typedef short i16; typedef int i32; typedef long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32;
typedef unsigned long u64;
#define W_WIDTH LANES
enum { L = W_WIDTH };
#define W_INLINE static inline __attribute__((always_inline))
#define W_VEC(T) typedef T v_##T __attribute__((vector_size(sizeof(T) * L)));
W_VEC(f32) W_VEC(f64) W_VEC(i8) W_VEC(i16) W_VEC(i32) W_VEC(i64)
W_VEC(u8) W_VEC(u16) W_VEC(u32) W_VEC(u64)
typedef i32 mask; typedef v_i32 v_mask;
struct m_bool { u8 v; }; struct m_bf16 { u16 v; }; struct m_f16 { u16 v; };
// A whole vector, and the first n lanes of one.
struct w_full { static constexpr int n = L; };
struct w_tail { int n; };
#define W_CVT(T) \
  template <class X> W_INLINE v_##T w_v_##T(X x) \
      { return __builtin_convertvector(x, v_##T); } \
  template <class X> W_INLINE T w_##T(X x) { return (T)x; } \
  W_INLINE v_##T w_splat(T x) { return x - (v_##T){}; } \
  W_INLINE v_##T w_select(v_mask m, v_##T a, v_##T b) { \
    typedef decltype(a == b) M; return __builtin_convertvector(m, M) ? a : b; } \
  W_INLINE T w_select(mask m, T a, T b) { return m ? a : b; } \
  template <class N> W_INLINE v_##T w_load(const T* p, N t) { \
    v_##T r = {}; __builtin_memcpy(&r, p, sizeof(T) * t.n); return r; } \
  template <class N> W_INLINE void w_store(T* p, v_##T x, N t) \
      { __builtin_memcpy(p, &x, sizeof(T) * t.n); } \
  W_INLINE T w_load1(const T* p) { return *p; } \
  W_INLINE void w_store1(T* p, T x) { *p = x; }
W_CVT(f32) W_CVT(f64) W_CVT(i8) W_CVT(i16) W_CVT(i32) W_CVT(i64)
W_CVT(u8) W_CVT(u16) W_CVT(u32) W_CVT(u64)
// Of a gather: a negative index counts from the end.
W_INLINE i64 w_index(i64 i, i64 bound, int* bad) {
  i += i < 0 ? bound : 0;
  if ((u64)i < (u64)bound) return i;
  *bad = 1;
  return 0;
}
template <class X> W_INLINE v_mask w_vm(X x)
    { return __builtin_convertvector(x, v_mask); }
W_INLINE mask w_m(bool x) { return -(mask)x; }
W_INLINE v_i32 w_iota() { v_i32 r; for (int l = 0; l < L; ++l) r[l] = l; return r; }
template <class V, class X> W_INLINE V w_lanes(X x) {
  if constexpr (sizeof(X) == sizeof(V)) return x; else return x - V{};
}
template <class V> W_INLINE V w_pick(w_full, V x, V) { return x; }
template <class V> W_INLINE V w_pick(w_tail t, V x, V other)
    { return w_select(w_vm(w_iota() < t.n), x, other); }
)";

constexpr char kNarrow[] = R"(
template <class N> W_INLINE v_mask w_load(const m_bool* p, N t)
    { return w_vm(w_load((const u8*)p, t) != 0); }
template <class N> W_INLINE void w_store(m_bool* p, v_mask x, N t)
    { w_store((u8*)p, w_v_u8(-x), t); }
W_INLINE mask w_load1(const m_bool* p) { return -(mask)(p->v != 0); }
W_INLINE void w_store1(m_bool* p, mask x) { p->v = (u8)-x; }

W_INLINE v_f32 w_widen(v_u16 x) { return (v_f32)(w_v_u32(x) << 16); }
W_INLINE v_u16 w_narrow(v_f32 x) {
  v_u32 u = (v_u32)x;
  v_u32 r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return w_v_u16(x == x ? r : ((u >> 16) | 0x40));
}
template <class N> W_INLINE v_f32 w_load(const m_bf16* p, N t)
    { return w_widen(w_load((const u16*)p, t)); }
template <class N> W_INLINE void w_store(m_bf16* p, v_f32 x, N t)
    { w_store((u16*)p, w_narrow(x), t); }
W_INLINE f32 w_load1(const m_bf16* p)
    { u32 u = (u32)p->v << 16; f32 r; __builtin_memcpy(&r, &u, 4); return r; }
W_INLINE void w_store1(m_bf16* p, f32 x) { p->v = w_narrow(w_splat(x))[0]; }

#ifdef __F16C__
typedef i16 w_h8 __attribute__((vector_size(16)));
typedef f32 w_f8 __attribute__((vector_size(32)));
W_INLINE v_f32 w_from_half(v_u16 x) {
  v_f32 r;
  for (int i = 0; i < L; i += 8) {
    w_h8 h; __builtin_memcpy(&h, (const char*)&x + 2 * i, 16);
    w_f8 f = __builtin_ia32_vcvtph2ps256(h);
    __builtin_memcpy((char*)&r + 4 * i, &f, 32);
  }
  return r;
}
W_INLINE v_u16 w_to_half(v_f32 x) {
  v_u16 r;
  for (int i = 0; i < L; i += 8) {
    w_f8 f; __builtin_memcpy(&f, (const char*)&x + 4 * i, 32);
    w_h8 h = (w_h8)__builtin_ia32_vcvtps2ph256(f, 0);
    __builtin_memcpy((char*)&r + 2 * i, &h, 16);
  }
  return r;
}
#else
W_INLINE v_f32 w_from_half(v_u16 x) {
  v_f32 r; for (int l = 0; l < L; ++l) r[l] = (f32)__builtin_bit_cast(_Float16, (u16)x[l]);
  return r;
}
W_INLINE v_u16 w_to_half(v_f32 x) {
  v_u16 r; for (int l = 0; l < L; ++l) r[l] = __builtin_bit_cast(u16, (_Float16)x[l]);
  return r;
}
#endif
template <class N> W_INLINE v_f32 w_load(const m_f16* p, N t)
    { return w_from_half(w_load((const u16*)p, t)); }
template <class N> W_INLINE void w_store(m_f16* p, v_f32 x, N t)
    { w_store((u16*)p, w_to_half(x), t); }
W_INLINE f32 w_load1(const m_f16* p)
    { return w_from_half(w_splat(p->v))[0]; }
W_INLINE void w_store1(m_f16* p, f32 x) { p->v = w_to_half(w_splat(x))[0]; }
W_INLINE v_f32 w_round_f16(v_f32 x) { return w_from_half(w_to_half(x)); }
W_INLINE f32 w_round_f16(f32 x) { return w_round_f16(w_splat(x))[0]; }
W_INLINE v_f32 w_round_bf16(v_f32 x) { return w_widen(w_narrow(x)); }
W_INLINE f32 w_round_bf16(f32 x) { return w_round_bf16(w_splat(x))[0]; }
W_INLINE v_f64 w_round_f32(v_f64 x) { return w_v_f64(w_v_f32(x)); }
W_INLINE f64 w_round_f32(f64 x) { return (f32)x; }
)";

constexpr char kArithmetic[] = R"(
#define W_EXTREMA(T) \
  W_INLINE T w_maximum(T a, T b) { T r = a > b ? a : b; return a == a ? r : a; } \
  W_INLINE T w_minimum(T a, T b) { T r = a < b ? a : b; return a == a ? r : a; }
#define W_SIGNS(T, M, W) \
  W_INLINE T w_abs(T x) { return W; } \
  W_INLINE M w_isnan(T x) { return M##_OF(x != x); } \
  W_INLINE T w_sign(T x) { T r = (x > 0 ? T{} + 1 : T{}); r = x < 0 ? T{} - 1 : r; \
    return x == x ? r : x; }
#define mask_OF w_m
#define v_mask_OF w_vm
#define W_BOTH(T, S, V) \
  W_EXTREMA(T) W_EXTREMA(v_##T) W_SIGNS(T, mask, S) W_SIGNS(v_##T, v_mask, V)
// The processor's own, which give the second operand where one is not a number.
#if defined(__AVX512F__) && W_WIDTH == 16
W_INLINE v_f32 w_max2(v_f32 a, v_f32 b)
    { return __builtin_ia32_maxps512_mask(a, b, b, -1, 4); }
W_INLINE v_f32 w_min2(v_f32 a, v_f32 b)
    { return __builtin_ia32_minps512_mask(a, b, b, -1, 4); }
#elif defined(__AVX2__) && W_WIDTH == 8
W_INLINE v_f32 w_max2(v_f32 a, v_f32 b) { return __builtin_ia32_maxps256(a, b); }
W_INLINE v_f32 w_min2(v_f32 a, v_f32 b) { return __builtin_ia32_minps256(a, b); }
#else
W_INLINE v_f32 w_max2(v_f32 a, v_f32 b) { return a > b ? a : b; }
W_INLINE v_f32 w_min2(v_f32 a, v_f32 b) { return a < b ? a : b; }
#endif
W_EXTREMA(f32) W_SIGNS(f32, mask, __builtin_fabsf(x))
W_SIGNS(v_f32, v_mask, (v_f32)((v_u32)x & 0x7fffffffu))
W_INLINE v_f32 w_maximum(v_f32 a, v_f32 b)
    { v_f32 r = w_max2(b, a); return b == b ? r : b; }
W_INLINE v_f32 w_minimum(v_f32 a, v_f32 b)
    { v_f32 r = w_min2(b, a); return b == b ? r : b; }
W_BOTH(f64, __builtin_fabs(x), (v_f64)((v_u64)x & 0x7ffffffffffffffful))
#define W_INT(T) W_BOTH(T, x < 0 ? (T)(0 - x) : x, x < 0 ? 0 - x : x)
W_INT(i8) W_INT(i16) W_INT(i32) W_INT(i64) W_INT(u8) W_INT(u16) W_INT(u32) W_INT(u64)
#define W_LANES1(name, T) \
  W_INLINE v_##T name(v_##T x) { for (int l = 0; l < L; ++l) x[l] = name(x[l]); return x; }
#define W_LANES2(name, T) \
  W_INLINE v_##T name(v_##T a, v_##T b) \
      { for (int l = 0; l < L; ++l) a[l] = name(a[l], b[l]); return a; }
#define W_DIVIDE(T) \
  W_INLINE T w_tdiv(T a, T b) \
      { return b == 0 ? 0 : b == (T)-1 && (T)-1 < 0 ? (T)(0 - (u64)a) : (T)(a / b); } \
  W_INLINE T w_trem(T a, T b) \
      { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? 0 : (T)(a % b); } \
  W_INLINE T w_rem(T a, T b) \
      { T r = w_trem(a, b); return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r; } \
  W_INLINE T w_fdiv(T a, T b) { T q = w_tdiv(a, b); \
      return b != 0 && w_trem(a, b) != 0 && (a < 0) != (b < 0) ? (T)(q - 1) : q; } \
  W_INLINE T w_ipow(T a, T e) { \
    if (e < 0) return a == 1 ? 1 : a == (T)-1 ? (e % 2 != 0 ? a : 1) : 0; \
    T r = 1; for (u64 k = e; k; k >>= 1) { if (k & 1) r = (T)((u64)r * (u64)a); \
      a = (T)((u64)a * (u64)a); } return r; } \
  W_INLINE T w_shl(T a, T b) \
      { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((u64)a << b); } \
  W_INLINE T w_shr(T a, T b) \
      { return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)(a < 0 ? -1 : 0) : (T)(a >> b); } \
  W_LANES2(w_tdiv, T) W_LANES2(w_trem, T) W_LANES2(w_rem, T) W_LANES2(w_fdiv, T) \
  W_LANES2(w_ipow, T) W_LANES2(w_shl, T) W_LANES2(w_shr, T)
#define W_WHOLE(T, s) \
  W_INLINE T w_floor(T x) { return __builtin_floor##s(x); } \
  W_INLINE T w_ceil(T x) { return __builtin_ceil##s(x); } \
  W_INLINE T w_trunc(T x) { return __builtin_trunc##s(x); } \
  W_INLINE T w_nearest(T x) { return __builtin_nearbyint##s(x); } \
  W_INLINE T w_sqrt(T x) { return __builtin_sqrt##s(x); } \
  W_INLINE v_##T w_floor(v_##T x) { W_EACH(floor, T) } \
  W_INLINE v_##T w_ceil(v_##T x) { W_EACH(ceil, T) } \
  W_INLINE v_##T w_trunc(v_##T x) { W_EACH(trunc, T) } \
  W_INLINE v_##T w_nearest(v_##T x) { W_EACH(nearest, T) } \
  W_INLINE v_##T w_sqrt(v_##T x) { W_EACH(sqrt, T) }
#define W_EACH(fn, T) v_##T r; for (int l = 0; l < L; ++l) r[l] = w_##fn(x[l]); return r;
W_WHOLE(f32, f) W_WHOLE(f64, )
)";

constexpr char kReduce[] = R"(
#define W_FOLD(name, expr) \
  template <class V> W_INLINE auto name(V v) { \
    auto a = v[0]; for (int l = 1; l < L; ++l) { auto b = v[l]; a = expr; } return a; }
W_FOLD(w_hmul, a * b) W_FOLD(w_hmax, w_maximum(a, b)) W_FOLD(w_hmin, w_minimum(a, b))
W_FOLD(w_hand, a & b) W_FOLD(w_hor, a | b)
template <class V> W_INLINE auto w_hsum(V v) {
  for (int w = L / 2; w > 0; w /= 2) for (int l = 0; l < w; ++l) v[l] = v[l] + v[l + w];
  return v[0];
}
#ifndef __clang__
// The same for one register, whose halves change places.
template <int W, class F> W_INLINE v_f32 w_halves(v_f32 v, F f) {
  if constexpr (W == 0) return v;
  else return w_halves<W / 2>(f(v, __builtin_shuffle(v, (w_iota() + W) & (L - 1))), f);
}
W_INLINE f32 w_hsum(v_f32 v)
    { return w_halves<L / 2>(v, [](v_f32 a, v_f32 b) { return a + b; })[0]; }
W_INLINE f32 w_hmax(v_f32 v)
    { return w_halves<L / 2>(v, [](v_f32 a, v_f32 b) { return w_maximum(a, b); })[0]; }
W_INLINE f32 w_hmin(v_f32 v)
    { return w_halves<L / 2>(v, [](v_f32 a, v_f32 b) { return w_minimum(a, b); })[0]; }
#endif
// The position of the largest (or smallest) value so far; -1: none yet. NaN
// stands before all.
template <bool large, class V, class N>
W_INLINE void w_arg(V* best, v_i64* at, V x, v_i64 pos, N t) {
  for (int l = 0; l < t.n; ++l) {
    auto b = (*best)[l]; auto a = x[l];
    if ((*at)[l] < 0 || (b == b && (a != a || (large ? a > b : a < b)))) {
      (*best)[l] = a; (*at)[l] = pos[l];
    }
  }
}
template <bool large, class V> W_INLINE i64 w_arg_all(V best, v_i64 at) {
  int k = 0;
  for (int l = 1; l < L; ++l) {
    if (at[l] < 0) continue;
    auto b = best[k]; auto a = best[l];
    bool better = b == b && (a != a || (large ? a > b : a < b));
    bool equal = a == b || (a != a && b != b);
    if (at[k] < 0 || better || (equal && at[l] < at[k])) k = l;
  }
  return at[k];
}
)";

// A function of f32 and f64, by scalar and by vector: W_LIBM's lane by lane,
// W_SLEEF's a register at a time.
constexpr char kMath[] = R"(
typedef f32 w_rf32 __attribute__((vector_size(REGISTER)));
typedef f64 w_rf64 __attribute__((vector_size(REGISTER)));
template <class R, class V, class F> W_INLINE V w_map(F f, V a) {
  for (unsigned i = 0; i < sizeof a; i += sizeof(R)) {
    R x; __builtin_memcpy(&x, (char*)&a + i, sizeof x);
    x = f(x); __builtin_memcpy((char*)&a + i, &x, sizeof x);
  }
  return a;
}
template <class R, class V, class F> W_INLINE V w_map(F f, V a, V b) {
  for (unsigned i = 0; i < sizeof a; i += sizeof(R)) {
    R x, y; __builtin_memcpy(&x, (char*)&a + i, sizeof x);
    __builtin_memcpy(&y, (char*)&b + i, sizeof y);
    x = f(x, y); __builtin_memcpy((char*)&a + i, &x, sizeof x);
  }
  return a;
}
#define W_SCALAR1(name) \
  W_INLINE f32 w_##name(f32 a) { return __builtin_##name##f(a); } \
  W_INLINE f64 w_##name(f64 a) { return __builtin_##name(a); }
#define W_SCALAR2(name) \
  W_INLINE f32 w_##name(f32 a, f32 b) { return __builtin_##name##f(a, b); } \
  W_INLINE f64 w_##name(f64 a, f64 b) { return __builtin_##name(a, b); }
#define W_LIBM1(name) W_SCALAR1(name) W_LANES1(w_##name, f32) W_LANES1(w_##name, f64)
#define W_LIBM2(name) W_SCALAR2(name) W_LANES2(w_##name, f32) W_LANES2(w_##name, f64)
#define W_SLEEF1(name, single, wide) W_SCALAR1(name) \
  extern "C" w_rf32 single(w_rf32); extern "C" w_rf64 wide(w_rf64); \
  W_INLINE v_f32 w_##name(v_f32 a) { return w_map<w_rf32>(single, a); } \
  W_INLINE v_f64 w_##name(v_f64 a) { return w_map<w_rf64>(wide, a); }
// For functions whose f32 is written out.
#define W_WIDE_LIBM1(name) \
  W_INLINE f64 w_##name(f64 a) { return __builtin_##name(a); } W_LANES1(w_##name, f64)
#define W_WIDE_SLEEF1(name, single, wide) \
  W_INLINE f64 w_##name(f64 a) { return __builtin_##name(a); } \
  extern "C" w_rf64 wide(w_rf64); \
  W_INLINE v_f64 w_##name(v_f64 a) { return w_map<w_rf64>(wide, a); }
#define W_SLEEF2(name, single, wide) W_SCALAR2(name) \
  extern "C" w_rf32 single(w_rf32, w_rf32); extern "C" w_rf64 wide(w_rf64, w_rf64); \
  W_INLINE v_f32 w_##name(v_f32 a, v_f32 b) { return w_map<w_rf32>(single, a, b); } \
  W_INLINE v_f64 w_##name(v_f64 a, v_f64 b) { return w_map<w_rf64>(wide, a, b); }
)";

// a * b + c, rounded once where the target can.
constexpr char kFma[] = R"(
#if defined(__AVX512F__) && W_WIDTH == 16
W_INLINE v_f32 w_fma(v_f32 a, v_f32 b, v_f32 c)
    { return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); }
W_INLINE v_f32 w_scale(v_f32 x, v_f32 n)
    { return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4); }
#else
#if defined(__FMA__) && W_WIDTH == 8
W_INLINE v_f32 w_fma(v_f32 a, v_f32 b, v_f32 c)
    { return __builtin_ia32_vfmaddps256(a, b, c); }
#else
W_INLINE v_f32 w_fma(v_f32 a, v_f32 b, v_f32 c) { return a * b + c; }
#endif
// In two steps: the result may be denormal or infinite.
W_INLINE v_f32 w_scale(v_f32 x, v_f32 n) {
  v_i32 k = w_v_i32(n), h = k >> 1;
  return x * (v_f32)((h + 127) << 23) * (v_f32)((k - h + 127) << 23);
}
#endif
)";

// x / d for one d, with the result of a division in every bit. The quotient by way of
// the reciprocal, which is rounded to nearest, is off by less than a unit after one
// step of correction and exact after two (Markstein). That takes remainders without
// rounding: where they may be too small, or a number is not finite, it is a division.
constexpr char kDivide[] = R"(
#if defined(__AVX512F__) && W_WIDTH == 16
W_INLINE v_f32 w_div(v_f32 x, f32 d) {
  const f32 size = w_abs(d);
  const u32 range = size >= 0x1p-20f && size <= 0x1p20f ? 200u << 23 : 0;
  const v_f32 y = w_splat(1 / d), minus = w_splat(-d);
  v_f32 q = x * y;
  q = w_fma(w_fma(q, minus, x), y, q);
  q = w_fma(w_fma(q, minus, x), y, q);
  const v_u32 above = ((v_u32)x & 0x7fffffffu) - (27u << 23);
  if (__builtin_ia32_ucmpd512_mask((v_i32)above, (v_i32)w_splat(range), 5, -1)) q = x / d;
  return q;
}
#else
W_INLINE v_f32 w_div(v_f32 x, f32 d) { return x / d; }
#endif
)";

// Functions of f32 without a call, so that the loops around them keep their
// registers. exp and tanh: reduction by Cody and Waite, polynomials as in Moshier's Cephes:
// the error stays below 2 units in the last place.
constexpr char kExpF32[] = R"(
W_INLINE v_f32 w_exp(v_f32 x) {
  x = w_max2(v_f32{} - 104.0f, w_min2(v_f32{} + 89.0f, x));
  const v_f32 shift = v_f32{} + 0x1.8p23f;
  v_f32 n = w_fma(x, v_f32{} + 1.44269504f, shift) - shift;
  v_f32 r = w_fma(n, v_f32{} - 0.693359375f, x);
  r = w_fma(n, v_f32{} + 2.12194440e-4f, r);
  v_f32 p = w_fma(v_f32{} + 1.9875691500e-4f, r, v_f32{} + 1.3981999507e-3f);
  p = w_fma(p, r, v_f32{} + 8.3334519073e-3f);
  p = w_fma(p, r, v_f32{} + 4.1665795894e-2f);
  p = w_fma(p, r, v_f32{} + 1.6666665459e-1f);
  p = w_fma(p, r, v_f32{} + 5.0000001201e-1f);
  return w_scale(w_fma(p, r * r, r) + 1.0f, n);
}
W_INLINE f32 w_exp(f32 x) { return w_exp(w_splat(x))[0]; }
)";
constexpr char kTanhF32[] = R"(
W_INLINE v_f32 w_tanh(v_f32 x) {
  v_f32 a = w_abs(x), z = x * x;
  v_f32 far = 1.0f - 2.0f / (w_exp(a + a) + 1.0f);
  far = (v_f32)((v_u32)far | ((v_u32)x & 0x80000000u));
  v_f32 p = w_fma(v_f32{} - 5.70498872745e-3f, z, v_f32{} + 2.06390887954e-2f);
  p = w_fma(p, z, v_f32{} - 5.37397155531e-2f);
  p = w_fma(p, z, v_f32{} + 1.33314422036e-1f);
  p = w_fma(p, z, v_f32{} - 3.33332819422e-1f);
  return a < 0.625f ? w_fma(p * z, x, x) : far;
}
W_INLINE f32 w_tanh(f32 x) { return w_tanh(w_splat(x))[0]; }
)";

// erf of f32 as an odd rational function on [-4, 4], outside of which it is 1 to
// the last place; the coefficients are those of Eigen's.
constexpr char kErfF32[] = R"(
W_INLINE v_f32 w_erf(v_f32 x) {
  x = w_max2(v_f32{} - 4.0f, w_min2(v_f32{} + 4.0f, x));
  v_f32 z = x * x;
  v_f32 p = w_fma(v_f32{} - 2.72614225801306e-10f, z, v_f32{} + 2.77068142495902e-08f);
  p = w_fma(p, z, v_f32{} - 2.10102402082508e-06f);
  p = w_fma(p, z, v_f32{} - 5.69250639462346e-05f);
  p = w_fma(p, z, v_f32{} - 7.34990630326855e-04f);
  p = w_fma(p, z, v_f32{} - 2.95459980854025e-03f);
  p = w_fma(p, z, v_f32{} - 1.60960333262415e-02f);
  v_f32 q = w_fma(v_f32{} - 1.45660718464996e-05f, z, v_f32{} - 2.13374055278905e-04f);
  q = w_fma(q, z, v_f32{} - 1.68282697438203e-03f);
  q = w_fma(q, z, v_f32{} - 7.37332916720468e-03f);
  q = w_fma(q, z, v_f32{} - 1.42647390514189e-02f);
  return x * p / q;
}
W_INLINE f32 w_erf(f32 x) { return w_erf(w_splat(x))[0]; }
)";

// f32 written out; null for functions that are called.
const char* WrittenF32(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExp:
      return kExpF32;
    case ScalarOp::kTanh:
      return kTanhF32;
    case ScalarOp::kErf:
      return kErfF32;
    default:
      return nullptr;
  }
}

std::string MathText(const MathFn& fn, const CcTarget& target) {
  const bool sleef = target.sleef && fn.sleef[0] != '\0' && target.isa != CcTarget::Isa::kGeneric;
  const char* written = WrittenF32(fn.op);
  std::string text = written ? absl::StrCat(written, "W_WIDE_") : "W_";
  if (!sleef) return absl::StrCat(text, "LIBM", fn.arity, "(", fn.name, ")\n");
  const bool wide = target.isa == CcTarget::Isa::kAvx512;
  const char* isa = wide ? "avx512f" : "avx2";
  const auto symbol = [&](char type, int lanes) {
    return absl::StrCat("Sleef_", fn.name, std::string(1, type), lanes, "_", fn.sleef, isa);
  };
  return absl::StrCat(text, "SLEEF", fn.arity, "(", fn.name, ", ", symbol('f', wide ? 16 : 8), ", ",
                      symbol('d', wide ? 8 : 4), ")\n");
}

bool IsIntDivision(ScalarOp op) {
  switch (op) {
    case ScalarOp::kFloorDiv:
    case ScalarOp::kTruncDiv:
    case ScalarOp::kRemainder:
    case ScalarOp::kFmod:
    case ScalarOp::kPow:
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return true;
    default:
      return false;
  }
}

constexpr char kIntDivision[] =
    "W_DIVIDE(i8) W_DIVIDE(i16) W_DIVIDE(i32) W_DIVIDE(i64)\n"
    "W_DIVIDE(u8) W_DIVIDE(u16) W_DIVIDE(u32) W_DIVIDE(u64)\n";

constexpr char kFloatDivision[] = R"(
#define W_FLOORED(T, s) \
  W_INLINE T w_rem(T a, T b) \
      { T r = w_fmod(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; } \
  W_INLINE T w_tdiv(T a, T b) { return __builtin_trunc##s(a / b); } \
  W_INLINE T w_fdiv(T a, T b) { \
    if (b == 0) return a / b; \
    T r = w_fmod(a, b), q = (a - r) / b; \
    if (r != 0 && (b < 0) != (r < 0)) q -= 1; \
    if (q == 0) return __builtin_copysign##s(0, a / b); \
    T f = __builtin_floor##s(q); return q - f > (T)0.5 ? f + 1 : f; } \
  W_LANES2(w_rem, T) W_LANES2(w_tdiv, T) W_LANES2(w_fdiv, T)
W_FLOORED(f32, f) W_FLOORED(f64, )
)";

}  // namespace

const MathFn* FindMathFn(ScalarOp op) {
  for (const MathFn& fn : kMathFns) {
    if (fn.op == op) return &fn;
  }
  return nullptr;
}

std::string Prelude(const CcTarget& target, const std::set<ScalarOp>& functions) {
  std::string text = absl::StrReplaceAll(kTypes, {{"LANES", absl::StrCat(target.lanes())}});
  absl::StrAppend(&text, kNarrow, kArithmetic, kReduce);
  const bool wide = target.isa == CcTarget::Isa::kAvx512;
  text += absl::StrReplaceAll(kMath, {{"REGISTER", wide ? "64" : "32"}});
  absl::StrAppend(&text, kFma, kDivide);
  std::set<ScalarOp> wanted = functions;
  bool ints = false;
  bool floats = false;
  for (ScalarOp op : functions) {
    ints = ints || IsIntDivision(op);
    floats = floats || op == ScalarOp::kFloorDiv || op == ScalarOp::kTruncDiv ||
             op == ScalarOp::kRemainder;
  }
  if (floats) wanted.insert(ScalarOp::kFmod);
  if (wanted.count(ScalarOp::kSigmoid) + wanted.count(ScalarOp::kTanh) > 0) {
    wanted.insert(ScalarOp::kExp);
  }
  for (const MathFn& fn : kMathFns) {
    if (wanted.count(fn.op) == 0) continue;
    text += MathText(fn, target);
  }
  if (ints) text += kIntDivision;
  if (floats) text += kFloatDivision;
  return text;
}

std::string MemoryType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "m_bool";
    case DType::kF16:
      return "m_f16";
    case DType::kBF16:
      return "m_bf16";
    default:
      return std::string(DTypeName(dtype));
  }
}

DType LoadedType(DType memory) {
  return memory == DType::kF16 || memory == DType::kBF16 ? DType::kF32 : memory;
}

std::string ValueType(DType dtype, bool vector) {
  const std::string name = dtype == DType::kBool ? "mask" : std::string(DTypeName(dtype));
  return vector ? "v_" + name : name;
}

}  // namespace weft::cc
