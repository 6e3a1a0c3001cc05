// The text that every emitted unit starts with. The emulation has its own versions of what stands
// under `#ifndef WEFT_EMULATE`; all other text is the same for both.
#include "backends/cuda/emit/prelude.h"

#include "absl/strings/str_cat.h"

namespace weft::cuda {
namespace {

constexpr char kTypes[] = R"(
typedef float f32; typedef double f64;
typedef signed char i8; typedef short i16; typedef int i32; typedef long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32;
typedef unsigned long u64;
static_assert(sizeof(long) == 8, "");
struct m_bool { u8 v; }; struct m_bf16 { u16 v; }; struct m_f16 { u16 v; };
)";

constexpr char kDevice[] = R"(
#ifndef WEFT_EMULATE
#define W_FN static __device__ __forceinline__
#define W_MEMBER __device__ __forceinline__
// Threads of a block, and the least number of blocks that a multiprocessor holds.
#define W_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
// Arguments may share memory, so that none is declared __restrict__.
#define W_IN(T) const T* const
#define W_OUT(T) T* const
#define W_SHARED(T, name, n) __shared__ __align__(16) T name[n]
extern __shared__ __align__(16) char w_dynamic[];
W_FN char* w_rows(char* kept, bool shared, i64 offset)
    { return shared ? w_dynamic : kept + offset; }
template <class T> W_FN const T& w_get(const T* p, i64 i) { return p[i]; }
template <class T> W_FN bool w_same(const T* p, const T* q) { return p == q; }
template <class T> W_FN T& w_put(T* p, i64 i) { return p[i]; }
W_FN void w_raise(i32* p) { *p = 1; }
// Element i becomes the larger one of it and x, whatever other threads do.
W_FN void w_raise_to(i32* p, i64 i, i32 x) { atomicMax(p + i, x); }
// The address of element i as one of another type.
template <class To, class T> W_FN To* w_as(T* p, i64 i) { return (To*)(p + i); }
template <class To, class T> W_FN const To* w_as(const T* p, i64 i) { return (const To*)(p + i); }
template <class T, class Group> W_FN void w_put_shared(T* tile, int i, const Group& group)
    { *(Group*)(tile + i) = group; }
template <class T, class Group> W_FN void w_get_shared(const T* tile, int i, Group* group)
    { *group = *(const Group*)(tile + i); }
W_FN u32 w_get_pair(const u16* tile, int i) { return *(const u32*)(tile + i); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define W_ASYNC 1
#endif
// Copies `bytes` bytes (4 or 16) from p to element i of shared memory, or writes zeros there if not
// `valid`. The copy is part of the thread's open group; w_close() closes a group, and w_wait<n>()
// waits for all but the last n closed ones of the thread.
template <int bytes, class T> W_FN void w_fetch(T* tile, int i, const T* p, bool valid) {
#ifdef W_ASYNC
  const u32 to = (u32)__cvta_generic_to_shared(tile + i);
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(p), "r"(valid ? 16 : 0));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(to), "l"(p), "r"(valid ? 4 : 0));
  }
#else
  struct __align__(bytes) group { char v[bytes]; };
  group g = {};
  if (valid) g = *(const group*)p;
  *(group*)(tile + i) = g;
#endif
}
W_FN void w_close() {
#ifdef W_ASYNC
  asm volatile("cp.async.commit_group;");
#endif
}
template <int n> W_FN void w_wait() {
#ifdef W_ASYNC
  asm volatile("cp.async.wait_group %0;" :: "n"(n));
#endif
}
// The same number, from which the compiler computes again what it would keep in registers.
W_FN u32 w_again(u32 x) { asm volatile("" : "+r"(x)); return x; }
// Four matrices of 8 x 8 elements of 16 bits, whose rows of 16 bytes begin at the elements i of
// eight lanes each. A lane gets two elements of row lane / 4 of each matrix; of the transposed
// matrices, two of column lane / 4 (PTX ISA, ldmatrix).
#define W_MATRICES(name, form) \
  template <class T> W_FN void name(u32* r, const T* tile, int i) { \
    const u32 from = (u32)__cvta_generic_to_shared(tile + i); \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" form ".shared.b16 {%0, %1, %2, %3}, [%4];" \
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from)); \
  }
W_MATRICES(w_matrices, "") W_MATRICES(w_matrices_transposed, ".trans")
// c += a * b on the tensor cores, for a piece of 16 x 16 by 16 x 8 elements (PTX ISA,
// mma.m16n8k16).
#define W_MMA(T, type) \
  W_FN void w_mma(f32* c, const u32* a, const u32* b, T) { \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
W_MMA(m_f16, "f16") W_MMA(m_bf16, "bf16")
// The same for 16 x 32 by 32 x 8 integers of 8 bits, of which a register holds four (mma.m16n8k32).
#define W_MMA_BYTES(A, B, types) \
  W_FN void w_mma(u32* c, const u32* a, const u32* b, A, B) { \
    asm("mma.sync.aligned.m16n8k32.row.col.s32." types ".s32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
W_MMA_BYTES(i8, i8, "s8.s8") W_MMA_BYTES(i8, u8, "s8.u8")
W_MMA_BYTES(u8, i8, "u8.s8") W_MMA_BYTES(u8, u8, "u8.u8")
// The same for 16 x 8 by 8 x 8 elements, of which the leading 11 bits are read (mma.m16n8k8).
W_FN void w_mma_tf32(f32* c, const f32* a, const f32* b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}
#endif
// x plus the four bytes.
W_FN u32 w_add_bytes(u32 bytes, u32 x, i8) { return (u32)__dp4a((int)bytes, 0x01010101, (int)x); }
W_FN u32 w_add_bytes(u32 bytes, u32 x, u8) { return __dp4a(bytes, 0x01010101u, x); }
// The arguments of up to n nests with types T, 8 bytes each, and where their ranges of blocks begin;
// the entries behind the last nest have the end of its range.
template <class... T> struct w_fields;
template <class T> struct w_fields<T> { T first; };
template <class T, class... Rest> struct w_fields<T, Rest...> { T first; w_fields<Rest...> rest; };
template <int n, class... T> struct w_table { w_fields<T...> nests[n]; u32 begins[n + 1]; };
template <int k, class... T> W_FN auto w_member(const w_fields<T...>& fields) {
  if constexpr (k == 0) return fields.first; else return w_member<k - 1>(fields.rest);
}
template <int k, int n, class... T> W_FN auto w_field(const w_table<n, T...>& table, int nest)
    { return w_member<k>(table.nests[nest]); }
template <int n, class... T> W_FN u32 w_begin(const w_table<n, T...>& table, int nest)
    { return table.begins[nest]; }
W_FN f32 w_from_half(u16 x) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
W_FN u16 w_to_half(f32 x) { u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
#endif
)";

constexpr char kMemory[] = R"(
template <class T, class F> W_FN T w_bitcast(F x)
    { static_assert(sizeof(T) == sizeof(F), ""); union { F f; T t; } u; u.f = x; return u.t; }
W_FN f32 w_widen(u16 x) { return __uint_as_float((u32)x << 16); }
W_FN u16 w_narrow(f32 x) {
  const u32 u = __float_as_uint(x);
  return (u16)(x == x ? (u + 0x7fff + ((u >> 16) & 1)) >> 16 : (u >> 16) | 0x40);
}
// The nearest number of 11 bits; the next one towards 0 if that is infinite.
W_FN f32 w_tf32(f32 x) {
  const u32 u = __float_as_uint(x), near = (u + 0x1000) & ~0x1fffu;
  if (x != x) return __uint_as_float(0x7fc00000u);
  return __uint_as_float((near & 0x7f800000u) == 0x7f800000u ? u & ~0x1fffu : near);
}
template <class T> W_FN T w_value(T x) { return x; }
W_FN bool w_value(m_bool x) { return x.v != 0; }
W_FN f32 w_value(m_bf16 x) { return w_widen(x.v); }
W_FN f32 w_value(m_f16 x) { return w_from_half(x.v); }
template <class T> W_FN void w_set(T* to, T x) { *to = x; }
W_FN void w_set(m_bool* to, bool x) { to->v = x; }
W_FN void w_set(m_bf16* to, f32 x) { to->v = w_narrow(x); }
W_FN void w_set(m_f16* to, f32 x) { to->v = w_to_half(x); }
template <class P> W_FN auto w_load(P p, i64 i) { return w_value(w_get(p, i)); }
template <class P, class X> W_FN void w_store(P p, i64 i, X x) { w_set(&w_put(p, i), x); }
// Neighbouring elements, which are accessed together.
template <class T, int n> struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) w_pack
    { T v[n]; };
template <int n, class T> W_FN w_pack<T, n> w_get_group(W_IN(T) p, i64 i)
    { return w_get(w_as<w_pack<T, n>>(p, i), 0); }
template <int n, class T> W_FN w_pack<T, n> w_get_group(W_OUT(T) p, i64 i)
    { return w_get(w_as<w_pack<T, n>>(p, i), 0); }
template <int n, class T> W_FN void w_put_group(W_OUT(T) p, i64 i, const w_pack<T, n>& group)
    { w_put(w_as<w_pack<T, n>>(p, i), 0) = group; }
// Element i of the rows; each has `slot` bytes.
template <class T, int slot, class P> W_FN T w_row(P rows, i64 i)
    { return w_get(w_as<T>(rows, i * slot), 0); }
template <class T, int slot, class P> W_FN void w_keep(P rows, i64 i, T x)
    { w_put(w_as<T>(rows, i * slot), 0) = x; }
W_FN u32 w_from_lane(u32 x, int lane) { return __shfl_sync(~0u, x, lane); }
// The blocks of a launch that compute one nest, and this block's number among them.
struct w_range { u32 block, blocks; };
W_FN w_range w_grid() { return {blockIdx.x, gridDim.x}; }
W_FN i64 w_thread(w_range r = w_grid()) { return r.block * (i64)blockDim.x + threadIdx.x; }
W_FN i64 w_threads(w_range r = w_grid()) { return r.blocks * (i64)blockDim.x; }
W_FN i64 w_apart(i64 i, w_range r) { return i * w_threads(r) + w_thread(r); }
// The nest of a table that this block computes: the last one that begins at its number or before.
template <int n, class... T> W_FN int w_nest(const w_table<n, T...>& table) {
  int nest = 0;
  for (int end = n; end - nest > 1;) {
    const int middle = (nest + end) / 2;
    (blockIdx.x < w_begin(table, middle) ? end : nest) = middle;
  }
  return nest;
}
template <int n, class... T> W_FN w_range w_range_of(const w_table<n, T...>& table, int nest) {
  const u32 begin = w_begin(table, nest);
  return {blockIdx.x - begin, w_begin(table, nest + 1) - begin};
}
// The index of a gather; a negative one counts from the end.
template <class P> W_FN i64 w_index(i64 i, i64 bound, P bad) {
  i += i < 0 ? bound : 0;
  if ((u64)i < (u64)bound) return i;
  w_raise(bad);
  return 0;
}
)";

constexpr char kArithmetic[] = R"(
W_FN f32 w_nan32() { return __uint_as_float(0x7fc00000u); }
W_FN f32 w_inf32() { return __uint_as_float(0x7f800000u); }
W_FN f64 w_nan64() { return __longlong_as_double(0x7ff8000000000000ll); }
W_FN f64 w_inf64() { return __longlong_as_double(0x7ff0000000000000ll); }
template <class F> W_FN i32 w_to_i32(F x)
    { return x >= (F)-0x1p31 && x < (F)0x1p31 ? (i32)x : (i32)(1u << 31); }
template <class F> W_FN i64 w_to_i64(F x)
    { return x >= (F)-0x1p63 && x < (F)0x1p63 ? (i64)x : (i64)((u64)1 << 63); }
template <class F> W_FN u64 w_to_u64(F x) {
  const bool high = x >= (F)0x1p63 && x < (F)0x1p64;
  return (u64)w_to_i64(high ? x - (F)0x1p63 : x) + (high ? (u64)1 << 63 : 0);
}
W_FN f32 w_round_bf16(f32 x) { return w_widen(w_narrow(x)); }
W_FN f32 w_round_f16(f32 x) { return w_from_half(w_to_half(x)); }
W_FN f64 w_round_f32(f64 x) { return (f32)x; }
W_FN bool w_negative(f32 x) { return __float_as_uint(x) >> 31; }
W_FN bool w_negative(f64 x) { return (u64)__double_as_longlong(x) >> 63; }
// NaN wins, and 0 is larger than -0.
#define W_EXTREMA(T) \
  W_FN T w_maximum(T a, T b) \
      { return a == b ? (w_negative(a) ? b : a) : a > b || a != a ? a : b; } \
  W_FN T w_minimum(T a, T b) \
      { return a == b ? (w_negative(a) ? a : b) : a < b || a != a ? a : b; } \
  W_FN T w_sign(T x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
W_EXTREMA(f32) W_EXTREMA(f64)
W_FN f32 w_abs(f32 x) { return fabsf(x); }
W_FN f64 w_abs(f64 x) { return fabs(x); }
template <class T> W_FN T w_maximum(T a, T b) { return a > b ? a : b; }
template <class T> W_FN T w_minimum(T a, T b) { return a < b ? a : b; }
template <class T> W_FN T w_sign(T x) { return (T)((x > 0) - (x < 0)); }
template <class T> W_FN T w_abs(T x) { return x < 0 ? (T)(0 - (u64)x) : x; }
// Integers: a division by zero gives 0.
template <class T> W_FN T w_tdiv(T a, T b)
    { return b == 0 ? 0 : b == (T)-1 && (T)-1 < 0 ? (T)(0 - (u64)a) : (T)(a / b); }
template <class T> W_FN T w_trem(T a, T b)
    { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? 0 : (T)(a % b); }
template <class T> W_FN T w_rem(T a, T b)
    { const T r = w_trem(a, b); return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r; }
template <class T> W_FN T w_fdiv(T a, T b) {
  const T q = w_tdiv(a, b);
  return b != 0 && w_trem(a, b) != 0 && (a < 0) != (b < 0) ? (T)(q - 1) : q;
}
template <class T> W_FN T w_ipow(T a, T e) {
  if (e < 0) return a == 1 ? 1 : a == (T)-1 ? (e % 2 != 0 ? a : 1) : 0;
  u64 r = 1, x = (u64)a;
  for (u64 k = (u64)e; k; k >>= 1, x *= x) r *= k & 1 ? x : 1;
  return (T)r;
}
template <class T> W_FN T w_shl(T a, T b)
    { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((u64)a << b); }
template <class T> W_FN T w_shr(T a, T b)
    { return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)(a < 0 ? -1 : 0) : (T)(a >> b); }
)";

constexpr char kFunctions[] = R"(
#define W_MATH1(name, single, wide) \
  W_FN f32 w_##name(f32 x) { return single(x); } W_FN f64 w_##name(f64 x) { return wide(x); }
#define W_MATH2(name, single, wide) \
  W_FN f32 w_##name(f32 a, f32 b) { return single(a, b); } \
  W_FN f64 w_##name(f64 a, f64 b) { return wide(a, b); }
W_MATH1(exp, expf, exp) W_MATH1(exp2, exp2f, exp2) W_MATH1(expm1, expm1f, expm1)
W_MATH1(log, logf, log) W_MATH1(log2, log2f, log2) W_MATH1(log10, log10f, log10)
W_MATH1(log1p, log1pf, log1p) W_MATH1(sin, sinf, sin) W_MATH1(cos, cosf, cos)
W_MATH1(tan, tanf, tan) W_MATH1(asin, asinf, asin) W_MATH1(acos, acosf, acos)
W_MATH1(atan, atanf, atan) W_MATH1(sinh, sinhf, sinh) W_MATH1(cosh, coshf, cosh)
W_MATH1(tanh, tanhf, tanh) W_MATH1(asinh, asinhf, asinh) W_MATH1(acosh, acoshf, acosh)
W_MATH1(atanh, atanhf, atanh) W_MATH1(erf, erff, erf) W_MATH1(erfc, erfcf, erfc)
W_MATH1(lgamma, lgammaf, lgamma) W_MATH1(sqrt, sqrtf, sqrt) W_MATH1(floor, floorf, floor)
W_MATH1(ceil, ceilf, ceil) W_MATH1(trunc, truncf, trunc) W_MATH1(nearest, rintf, rint)
W_MATH2(pow, powf, pow) W_MATH2(atan2, atan2f, atan2) W_MATH2(fmod, fmodf, fmod)
W_FN f32 w_fma(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
W_FN f64 w_fma(f64 a, f64 b, f64 c) { return fma(a, b, c); }
W_FN u32 w_fma(u32 a, u32 b, u32 c) { return a * b + c; }
W_FN u64 w_fma(u64 a, u64 b, u64 c) { return a * b + c; }
#define W_FLOORED(T, copysign) \
  W_FN T w_rem(T a, T b) \
      { const T r = w_fmod(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; } \
  W_FN T w_tdiv(T a, T b) { return w_trunc(a / b); } \
  W_FN T w_fdiv(T a, T b) { \
    if (b == 0) return a / b; \
    const T r = w_fmod(a, b); T q = (a - r) / b; \
    if (r != 0 && (b < 0) != (r < 0)) q -= 1; \
    if (q == 0) return copysign((T)0, a / b); \
    const T f = w_floor(q); return q - f > (T)0.5 ? f + 1 : f; }
W_FLOORED(f32, copysignf) W_FLOORED(f64, copysign)
)";

constexpr char kReduce[] = R"(
// A value and its position; -1: none.
template <class T> struct w_at { T value; i64 at; };
struct w_add { template <class T> W_MEMBER T operator()(T a, T b) const { return a + b; } };
struct w_multiply { template <class T> W_MEMBER T operator()(T a, T b) const { return a * b; } };
struct w_most
    { template <class T> W_MEMBER T operator()(T a, T b) const { return w_maximum(a, b); } };
struct w_least
    { template <class T> W_MEMBER T operator()(T a, T b) const { return w_minimum(a, b); } };
struct w_all { template <class T> W_MEMBER T operator()(T a, T b) const { return a & b; } };
struct w_any { template <class T> W_MEMBER T operator()(T a, T b) const { return a | b; } };
// The first position of the largest or smallest value; NaN stands before all.
template <bool large> struct w_first {
  template <class T> W_MEMBER w_at<T> operator()(w_at<T> a, w_at<T> b) const {
    if (b.at < 0) return a;
    if (a.at < 0) return b;
    const bool better =
        a.value == a.value && (b.value != b.value || (large ? b.value > a.value : b.value < a.value));
    const bool equal = a.value == b.value || (a.value != a.value && b.value != b.value);
    return better || (equal && b.at < a.at) ? b : a;
  }
};
W_FN f32 w_down(f32 x, int d) { return __shfl_down_sync(~0u, x, d); }
W_FN f64 w_down(f64 x, int d) { return __shfl_down_sync(~0u, x, d); }
W_FN i64 w_down(i64 x, int d) { return __shfl_down_sync(~0u, x, d); }
W_FN u64 w_down(u64 x, int d) { return __shfl_down_sync(~0u, x, d); }
template <class T> W_FN T w_down(T x, int d) { return (T)__shfl_down_sync(~0u, (int)x, d); }
template <class T> W_FN w_at<T> w_down(w_at<T> x, int d)
    { return {w_down(x.value, d), w_down(x.at, d)}; }
// The partial results of all threads of a block, combined: in each warp by halves, then warp by
// warp. All threads get the result.
template <class T, class Op> W_FN T w_block_reduce(T x, Op op) {
  W_SHARED(T, partial, 32);
  for (int d = 16; d > 0; d /= 2) x = op(x, w_down(x, d));
  // The partial results of the last reduction have been read.
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = partial[0];
  for (int w = 1; w < (int)blockDim.x / 32; ++w) x = op(x, (T)partial[w]);
  return x;
}
)";

}  // namespace

std::string Prelude() {
  return absl::StrCat(kTypes, kDevice, kMemory, kArithmetic, kFunctions, kReduce);
}

}  // namespace weft::cuda
