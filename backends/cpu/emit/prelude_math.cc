// The functions of the math library in emitted code: written out, SLEEF's or libm's.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/emit/internal.h"

namespace weft::cpu::cc {
namespace {

// A function of the math library.
struct MathFn {
  ScalarOp op;
  const char* name;  // libm's name for f64; the emitted name adds the prefix w_.
  // Accuracy suffix of SLEEF's function; empty if libm's is used because SLEEF's is slower.
  const char* sleef;
  int arity = 1;
};

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

// A function of f32 and f64, scalar and vector: W_LIBM calls libm lane by lane, W_SLEEF calls SLEEF
// for one register at a time.
constexpr char kMath[] = R"(
typedef f32 w_rf32 __attribute__((vector_size(REGISTER)));
typedef f64 w_rf64 __attribute__((vector_size(REGISTER)));
template <class R, class V, class F> W_INLINE V w_map(F f, V a) {
  constexpr unsigned n = sizeof(R) < sizeof(V) ? sizeof(R) : sizeof(V);
  for (unsigned i = 0; i < sizeof a; i += n) {
    R x = {}; __builtin_memcpy(&x, (char*)&a + i, n);
    x = f(x); __builtin_memcpy((char*)&a + i, &x, n);
  }
  return a;
}
template <class R, class V, class F> W_INLINE V w_map(F f, V a, V b) {
  constexpr unsigned n = sizeof(R) < sizeof(V) ? sizeof(R) : sizeof(V);
  for (unsigned i = 0; i < sizeof a; i += n) {
    R x = {}, y = {}; __builtin_memcpy(&x, (char*)&a + i, n);
    __builtin_memcpy(&y, (char*)&b + i, n);
    x = f(x, y); __builtin_memcpy((char*)&a + i, &x, n);
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
// Single values take SLEEF's functions, too: libm's results may have other bits.
#define W_SLEEF1(name, single, wide) \
  extern "C" w_rf32 single(w_rf32); extern "C" w_rf64 wide(w_rf64); \
  W_INLINE f32 w_##name(f32 a) { return single(a - w_rf32{})[0]; } \
  W_INLINE f64 w_##name(f64 a) { return wide(a - w_rf64{})[0]; } \
  W_INLINE v_f32 w_##name(v_f32 a) { return w_map<w_rf32>(single, a); } \
  W_INLINE v_f64 w_##name(v_f64 a) { return w_map<w_rf64>(wide, a); }
// For functions whose f32 is written out.
#define W_WIDE_LIBM1(name) \
  W_INLINE f64 w_##name(f64 a) { return __builtin_##name(a); } W_LANES1(w_##name, f64)
#define W_WIDE_SLEEF1(name, single, wide) \
  extern "C" w_rf64 wide(w_rf64); \
  W_INLINE f64 w_##name(f64 a) { return wide(a - w_rf64{})[0]; } \
  W_INLINE v_f64 w_##name(v_f64 a) { return w_map<w_rf64>(wide, a); }
#define W_SLEEF2(name, single, wide) \
  extern "C" w_rf32 single(w_rf32, w_rf32); extern "C" w_rf64 wide(w_rf64, w_rf64); \
  W_INLINE f32 w_##name(f32 a, f32 b) { return single(a - w_rf32{}, b - w_rf32{})[0]; } \
  W_INLINE f64 w_##name(f64 a, f64 b) { return wide(a - w_rf64{}, b - w_rf64{})[0]; } \
  W_INLINE v_f32 w_##name(v_f32 a, v_f32 b) { return w_map<w_rf32>(single, a, b); } \
  W_INLINE v_f64 w_##name(v_f64 a, v_f64 b) { return w_map<w_rf64>(wide, a, b); }
)";

// a * b + c, rounded once if the target has such an instruction.
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
#elif defined(__FMA__)
W_INLINE v_f32 w_fma(v_f32 a, v_f32 b, v_f32 c)
    { for (int l = 0; l < L; ++l) a[l] = __builtin_fmaf(a[l], b[l], c[l]); return a; }
#else
W_INLINE v_f32 w_fma(v_f32 a, v_f32 b, v_f32 c) { return a * b + c; }
#endif
// In two steps: the result may be denormal or infinite.
W_INLINE v_f32 w_scale(v_f32 x, v_f32 n) {
  v_i32 k = w_v_i32(n), h = k >> 1;
  return x * (v_f32)((h + 127) << 23) * (v_f32)((k - h + 127) << 23);
}
#endif
W_INLINE f32 w_fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
W_INLINE f64 w_fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
W_INLINE v_f64 w_fma(v_f64 a, v_f64 b, v_f64 c)
    { for (int l = 0; l < L; ++l) a[l] = w_fma(a[l], b[l], c[l]); return a; }
)";

// x / d for a uniform d, equal to division in every bit. The quotient by a multiplication with the
// rounded reciprocal is off by less than one unit after one correction step and exact after two
// (Markstein). The steps need exact remainders: if these may be denormal, or a number is not
// finite, the code divides.
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
// x / d, rounded to an integer. Below 512 a product with the rounded reciprocal is less than 2^-13
// away from the quotient, so that both are rounded alike unless the product lies that near to the
// middle of two integers.
W_INLINE v_f32 w_nearest_quotient(v_f32 x, f32 d) {
  const f32 size = w_abs(d);
  const f32 range = size >= 0x1p-60f && size <= 0x1p60f ? 512 : 0;
  const v_f32 q = x * w_splat(1 / d), r = w_nearest(q);
  // True with a NaN.
  const v_mask far = ~(w_abs(q - r) <= 0.5f - 0x1p-13f) | ~(w_abs(q) < range);
  if (__builtin_ia32_cmpd512_mask(far, (v_i32){}, 4, -1)) return w_nearest(x / d);
  return r;
}
#else
W_INLINE v_f32 w_div(v_f32 x, f32 d) { return x / d; }
W_INLINE v_f32 w_nearest_quotient(v_f32 x, f32 d) { return w_nearest(x / d); }
#endif
)";

// Functions of f32 without a call, so that the loops around them keep their registers. exp and tanh
// use the reduction of Cody and Waite and polynomials as in Moshier's Cephes: the error is below 2
// units in the last place.
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

// erf of f32 as an odd rational function on [-4, 4]; outside of it erf is 1 to the last place. The
// coefficients are Eigen's.
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

// The written-out f32 function; null for functions that are called.
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

}  // namespace

std::string MathBasics(const CcTarget& target) {
  const bool wide = target.isa == CcTarget::Isa::kAvx512;
  return absl::StrCat(absl::StrReplaceAll(kMath, {{"REGISTER", wide ? "64" : "32"}}), kFma,
                      kDivide);
}

std::string MathFunctions(const CcTarget& target, std::set<ScalarOp> wanted) {
  if (wanted.count(ScalarOp::kSigmoid) + wanted.count(ScalarOp::kTanh) > 0) {
    wanted.insert(ScalarOp::kExp);
  }
  std::string text;
  for (const MathFn& fn : kMathFns) {
    if (wanted.count(fn.op) > 0) text += MathText(fn, target);
  }
  return text;
}

}  // namespace weft::cpu::cc
