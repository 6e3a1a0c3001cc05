// Declarations shared by files that are compiled once for each instruction set; each set has a
// namespace, so that the linker never mixes functions of two sets.
#ifndef WEFT_BACKENDS_CPU_KERNELS_TILE_OPS_INTERNAL_H_
#define WEFT_BACKENDS_CPU_KERNELS_TILE_OPS_INTERNAL_H_

#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/kernel_list.h"
#include "backends/cpu/kernels/tile_ops.h"

#if defined(__AVX512VNNI__)
#define WEFT_CPU_ISA avx512_vnni
#elif defined(__AVX512F__)
#define WEFT_CPU_ISA avx512
#elif defined(__AVXVNNI__)
#define WEFT_CPU_ISA avx2_vnni
#else
#define WEFT_CPU_ISA avx2
#endif
#if defined(__AVX512F__)
#define WEFT_CPU_VECTOR_BYTES 64
#else
#define WEFT_CPU_VECTOR_BYTES 32
#endif

namespace weft::cpu {
namespace WEFT_CPU_ISA {

TileFn FindCompute(ScalarOp op, DType dtype, DType operand, unsigned uniform);
TileFn FindFunction(ScalarOp op, DType dtype);  // SLEEF's.
TileFn FindConvert(DType to, DType from);
TileFn FindRound(DType dtype, DType via);
TileFn FindBroadcast(DType dtype);
MoveFn FindLoad(DType memory);
MoveFn FindStore(DType memory);
GatherFn FindGather(DType memory);
GatherFn FindScatter(DType memory);
TermFn FindTerm(DType index);
IotaFn FindIota(DType dtype);
RowFn FindReduceRow(ReduceOp op, DType dtype);
ReduceFn FindArgRow(ReduceOp op, DType dtype);
ReduceFn FindReduceColumn(ReduceOp op, DType dtype);
TileFn FindStart(ReduceOp op, DType dtype);
RowEndFn FindFinishRow(ReduceOp op, DType dtype);

namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

// A bool in a tile; a separate type, because its arithmetic is logic.
struct Bool {
  uint8_t value;
};

// fn(T{}), or `none` if the program does without the kernels of the dtype.
template <bool kHas, typename T, typename R, typename Fn>
R VisitIf(R none, Fn fn) {
  if constexpr (kHas) {
    return fn(T{});
  } else {
    return none;
  }
}

// Calls fn(T{}) for the compute dtype; returns `none` for others.
template <typename R, typename Fn>
R VisitCompute(DType dtype, R none, Fn fn) {
  switch (dtype) {
    case DType::kF32:
      return VisitIf<HasKernels("dtype", "f32"), float>(none, fn);
    case DType::kF64:
      return VisitIf<HasKernels("dtype", "f64"), double>(none, fn);
    case DType::kI8:
      return VisitIf<HasKernels("dtype", "i8"), int8_t>(none, fn);
    case DType::kI16:
      return VisitIf<HasKernels("dtype", "i16"), int16_t>(none, fn);
    case DType::kI32:
      return VisitIf<HasKernels("dtype", "i32"), int32_t>(none, fn);
    case DType::kI64:
      return VisitIf<HasKernels("dtype", "i64"), int64_t>(none, fn);
    case DType::kU8:
      return VisitIf<HasKernels("dtype", "u8"), uint8_t>(none, fn);
    case DType::kU16:
      return VisitIf<HasKernels("dtype", "u16"), uint16_t>(none, fn);
    case DType::kU32:
      return VisitIf<HasKernels("dtype", "u32"), uint32_t>(none, fn);
    case DType::kU64:
      return VisitIf<HasKernels("dtype", "u64"), uint64_t>(none, fn);
    case DType::kBool:
      return VisitIf<HasKernels("dtype", "bool"), Bool>(none, fn);
    default:
      return none;
  }
}

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point<T>::value;
template <typename T>
inline constexpr bool kIsBool = std::is_same<T, Bool>::value;
template <typename T>
inline constexpr bool kIsInt = std::is_integral<T>::value;

// Requires `to` and `from` of equal size.
template <typename To, typename From>
inline To BitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <typename T>
using UnsignedOf = typename std::conditional<
    sizeof(T) == 8, uint64_t,
    typename std::conditional<
        sizeof(T) == 4, uint32_t,
        typename std::conditional<sizeof(T) == 2, uint16_t, uint8_t>::type>::type>::type;

// The type whose functions compute sums, products and equalities of T: signed integers have the
// bits of unsigned ones there, so that they share the code.
template <typename T>
using Wrapping = typename std::conditional<kIsInt<T>, UnsignedOf<T>, T>::type;

// Maximum and minimum as in graph/ops: NaN wins, and 0 is larger than -0.
template <typename T>
inline T LargerOf(T a, T b) {
  if constexpr (kIsFloat<T>) {
    const T r = (a > b) | (a != a) ? a : b;
    using U = UnsignedOf<T>;
    return a == b ? BitsOf<T>(static_cast<U>(BitsOf<U>(a) & BitsOf<U>(b))) : r;
  } else {
    return a < b ? b : a;
  }
}

template <typename T>
inline T SmallerOf(T a, T b) {
  if constexpr (kIsFloat<T>) {
    const T r = (a < b) | (a != a) ? a : b;
    using U = UnsignedOf<T>;
    return a == b ? BitsOf<T>(static_cast<U>(BitsOf<U>(a) | BitsOf<U>(b))) : r;
  } else {
    return b < a ? b : a;
  }
}

// Conversions of narrow floats from and to their bits, rounding to nearest even.
inline float BF16ToFloat(uint16_t bits) { return BitsOf<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t FloatToBF16(float v) {
  const uint32_t bits = BitsOf<uint32_t>(v);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(v != v ? (bits >> 16) | 0x40 : rounded);
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_TILE_OPS_INTERNAL_H_
