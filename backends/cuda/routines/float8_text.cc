#include "backends/cuda/routines/float8_text.h"

namespace weft::cuda {

bool IsFloat8(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

std::string Float8Text() {
  return R"(
struct f8e4m3 { u8 v; };
struct f8e5m2 { u8 v; };
// The bits of a number stand where f32 has them, with another bias of the exponent.
W_FN f32 w_value(f8e4m3 x) {
  const u32 sign = (u32)(x.v >> 7) << 31, size = x.v & 0x7f;
  if (size == 0x7f) return __uint_as_float(sign | 0x7fc00000u);
  return __uint_as_float(sign | size << 20) * 0x1p120f;
}
W_FN f32 w_value(f8e5m2 x) {
  const u32 sign = (u32)(x.v >> 7) << 31, size = x.v & 0x7f;
  if (size > 0x7c) return __uint_as_float(sign | 0x7fc00000u);
  if (size == 0x7c) return __uint_as_float(sign | 0x7f800000u);
  return __uint_as_float(sign | size << 21) * 0x1p112f;
}
// The bits of the magnitude with so many of the fraction, as if there were no largest exponent.
template <int fraction, int bias> W_FN u32 w_round8(f32 x) {
  constexpr u32 least = (u32)(128 - bias) << 23, drop = 23 - fraction;
  const u32 u = __float_as_uint(x) & 0x7fffffffu;
  // Below the least normal number, in steps of the least number.
  if (u < least) {
    const f32 steps = __uint_as_float((u32)(126 + bias + fraction) << 23);
    return (u32)w_nearest(__uint_as_float(u) * steps);
  }
  const u32 rounded = u + ((1u << (drop - 1)) - 1) + (u >> drop & 1);
  return (rounded >> drop) - ((u32)(127 - bias) << fraction);
}
template <class T> struct w_float8;
template <> struct w_float8<f8e4m3> {
  static W_MEMBER f8e4m3 narrow(f32 x, bool saturate) {
    const u32 sign = __float_as_uint(x) >> 31 << 7, size = w_round8<3, 7>(x);
    if (x != x) return {(u8)(sign | 0x7f)};
    return {(u8)(sign | (size < 0x7f ? size : saturate ? 0x7e : 0x7f))};
  }
};
template <> struct w_float8<f8e5m2> {
  static W_MEMBER f8e5m2 narrow(f32 x, bool saturate) {
    const u32 u = __float_as_uint(x), sign = u >> 31 << 7, size = w_round8<2, 15>(x);
    if (x != x) return {(u8)(sign | 0x7e | (u >> 21 & 1))};
    return {(u8)(sign | (size < 0x7c ? size : saturate ? 0x7b : 0x7c))};
  }
};
template <class T> W_FN T w_narrow8(f32 x, bool saturate)
    { return w_float8<T>::narrow(x, saturate); }
#if !defined(WEFT_EMULATE) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890 && \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define W_MMA_FLOAT8(A, B, types) \
  W_FN void w_mma(f32* c, const u32* a, const u32* b, A, B) { \
    asm("mma.sync.aligned.m16n8k32.row.col.f32." types ".f32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
W_MMA_FLOAT8(f8e4m3, f8e4m3, "e4m3.e4m3") W_MMA_FLOAT8(f8e4m3, f8e5m2, "e4m3.e5m2")
W_MMA_FLOAT8(f8e5m2, f8e4m3, "e5m2.e4m3") W_MMA_FLOAT8(f8e5m2, f8e5m2, "e5m2.e5m2")
#endif
)";
}

}  // namespace weft::cuda
