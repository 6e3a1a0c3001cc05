// The text that every emitted unit starts with: types, loads and stores of whole and partial
// vectors, conversions, arithmetic and reductions.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/emit/internal.h"

namespace weft::cpu::cc {
namespace {

// The text; LANES is replaced by a number.
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
// GCC 12 takes vectors apart, element by element, that are narrowed, or loaded, and then widened; it
// does not see both here.
template <class V> W_INLINE V w_kept(V v) {
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (sizeof(v[0]) <= 2 && sizeof(V) >= 8) __asm__("" : "+x"(v));
#endif
  return v;
}
#define W_CVT(T) \
  template <class X> W_INLINE v_##T w_v_##T(X x) \
      { return w_kept(__builtin_convertvector(x, v_##T)); } \
  template <class X> W_INLINE T w_##T(X x) { return (T)x; } \
  W_INLINE v_##T w_splat(T x) { return x - (v_##T){}; } \
  W_INLINE v_##T w_select(v_mask m, v_##T a, v_##T b) { \
    typedef decltype(a == b) M; return __builtin_convertvector(m, M) ? a : b; } \
  W_INLINE T w_select(mask m, T a, T b) { return m ? a : b; } \
  template <class N> W_INLINE v_##T w_load(const T* p, N t) { \
    v_##T r = {}; __builtin_memcpy(&r, p, sizeof(T) * t.n); return w_kept(r); } \
  template <class N> W_INLINE void w_store(T* p, v_##T x, N t) \
      { __builtin_memcpy(p, &x, sizeof(T) * t.n); } \
  W_INLINE T w_load1(const T* p) { return *p; } \
  W_INLINE void w_store1(T* p, T x) { *p = x; }
W_CVT(f32) W_CVT(f64) W_CVT(i8) W_CVT(i16) W_CVT(i32) W_CVT(i64)
W_CVT(u8) W_CVT(u16) W_CVT(u32) W_CVT(u64)
// Floats to u64. Numbers from 2^63 on do not fit in an i64: they are converted less 2^63.
template <class F> W_INLINE u64 w_unsigned(F v) {
  bool high = v >= (F)0x1p63 && v < (F)0x1p64;
  return (u64)(i64)(high ? v - (F)0x1p63 : v) + (high ? (u64)1 << 63 : 0);
}
W_INLINE u64 w_to_u64(f32 x) { return w_unsigned(x); }
W_INLINE u64 w_to_u64(f64 x) { return w_unsigned(x); }
template <class V> W_INLINE v_u64 w_to_u64(V x)
    { v_u64 r; for (int l = 0; l < L; ++l) r[l] = w_unsigned(x[l]); return r; }
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
enum { w_eight = L < 8 ? L : 8 };
typedef i16 w_h8 __attribute__((vector_size(16)));
typedef f32 w_f8 __attribute__((vector_size(32)));
W_INLINE v_f32 w_from_half(v_u16 x) {
  v_f32 r;
  for (int i = 0; i < L; i += 8) {
    w_h8 h = {}; __builtin_memcpy(&h, (const char*)&x + 2 * i, 2 * w_eight);
    w_f8 f = __builtin_ia32_vcvtph2ps256(h);
    __builtin_memcpy((char*)&r + 4 * i, &f, 4 * w_eight);
  }
  return r;
}
W_INLINE v_u16 w_to_half(v_f32 x) {
  v_u16 r;
  for (int i = 0; i < L; i += 8) {
    w_f8 f = {}; __builtin_memcpy(&f, (const char*)&x + 4 * i, 4 * w_eight);
    w_h8 h = (w_h8)__builtin_ia32_vcvtps2ph256(f, 0);
    __builtin_memcpy((char*)&r + 2 * i, &h, 2 * w_eight);
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
  W_INLINE T w_maximum(T a, T b) { return a > b ? a : b; } \
  W_INLINE T w_minimum(T a, T b) { return a < b ? a : b; }
#define W_SIGNS(T, M, W) \
  W_INLINE T w_abs(T x) { return W; } \
  W_INLINE M w_isnan(T x) { return M##_OF(x != x); } \
  W_INLINE T w_sign(T x) { T r = (x > 0 ? T{} + 1 : T{}); return x < 0 ? T{} - 1 : r; }
#define mask_OF w_m
#define v_mask_OF w_vm
#define W_BOTH(T, S, V) W_SIGNS(T, mask, S) W_SIGNS(v_##T, v_mask, V)
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
// NaN wins, and 0 is larger than -0. Of numbers that are not equal both orders give the same.
#define W_FLOAT_EXTREMA(T) \
  W_INLINE T w_maximum(T a, T b) \
      { return a == b ? (__builtin_signbit(a) ? b : a) : a > b || a != a ? a : b; } \
  W_INLINE T w_minimum(T a, T b) \
      { return a == b ? (__builtin_signbit(a) ? a : b) : a < b || a != a ? a : b; }
W_FLOAT_EXTREMA(f32) W_FLOAT_EXTREMA(f64)
// A number that the compiler sees, the same in all lanes, and not -0.
W_INLINE bool w_plain(v_f32 v) {
  const f32 x = v[0];
  bool same = __builtin_constant_p(x) && x == x && !(x == 0 && __builtin_signbit(x));
  #pragma GCC unroll 16
  for (int i = 1; i < L; ++i)
    same = same && __builtin_constant_p(v[i]) && v[i] == x && !__builtin_signbit(v[i]) == !__builtin_signbit(x);
  return same;
}
W_INLINE v_f32 w_maximum(v_f32 a, v_f32 b) {
  if (w_plain(b)) return b[0] == 0 ? w_max2(b, a) + b : w_max2(b, a);
  v_f32 m = w_max2(a, b), n = w_max2(b, a);
  return (v_f32)((v_u32)m | (v_u32)n) - (v_f32)((v_u32)m ^ (v_u32)n);
}
W_INLINE v_f32 w_minimum(v_f32 a, v_f32 b) {
  if (w_plain(b)) return w_min2(b, a);
  return (v_f32)((v_u32)w_min2(a, b) | (v_u32)w_min2(b, a));
}
W_INLINE v_f64 w_maximum(v_f64 a, v_f64 b) {
  v_f64 m = a > b ? a : b, n = b > a ? b : a;
  return (v_f64)((v_u64)m | (v_u64)n) - (v_f64)((v_u64)m ^ (v_u64)n);
}
W_INLINE v_f64 w_minimum(v_f64 a, v_f64 b) {
  v_f64 m = a < b ? a : b, n = b < a ? b : a;
  return (v_f64)((v_u64)m | (v_u64)n);
}
W_SIGNS(f32, mask, __builtin_fabsf(x))
W_SIGNS(v_f32, v_mask, (v_f32)((v_u32)x & 0x7fffffffu))
W_BOTH(f64, __builtin_fabs(x), (v_f64)((v_u64)x & 0x7ffffffffffffffful))
#define W_INT(T) W_EXTREMA(T) W_EXTREMA(v_##T) W_BOTH(T, x < 0 ? (T)(0 - x) : x, x < 0 ? 0 - x : x)
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
// The lanes of a vector, combined by halves.
#define W_FOLD(name, expr) \
  template <class V> W_INLINE auto name(V v) { \
    for (int w = L / 2; w > 0; w /= 2) \
      for (int l = 0; l < w; ++l) { auto a = v[l], b = v[l + w]; v[l] = expr; } \
    return v[0]; }
W_FOLD(w_hsum, a + b) W_FOLD(w_hmul, a * b) W_FOLD(w_hmax, w_maximum(a, b)) W_FOLD(w_hmin, w_minimum(a, b))
W_FOLD(w_hand, a & b) W_FOLD(w_hor, a | b)
#ifndef __clang__
// The same in a register, whose halves change places.
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

std::string Prelude(const CcTarget& target, int lanes, const std::set<ScalarOp>& functions) {
  std::string text = absl::StrReplaceAll(kTypes, {{"LANES", absl::StrCat(lanes)}});
  absl::StrAppend(&text, kNarrow, kArithmetic, kReduce);
  text += MathBasics(target);
  std::set<ScalarOp> wanted = functions;
  bool ints = false;
  bool floats = false;
  for (ScalarOp op : functions) {
    ints = ints || IsIntDivision(op);
    floats = floats || op == ScalarOp::kFloorDiv || op == ScalarOp::kTruncDiv ||
             op == ScalarOp::kRemainder;
  }
  if (floats) wanted.insert(ScalarOp::kFmod);
  text += MathFunctions(target, wanted);
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

}  // namespace weft::cpu::cc
