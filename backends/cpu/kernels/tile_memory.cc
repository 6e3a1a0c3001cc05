// Moves tiles from and to memory, and converts dtypes; compiled once for each instruction set.
#include <immintrin.h>

#include "backends/cpu/kernels/tile_ops_internal.h"
#include "graph/tensor/tensor.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

// --- Conversions ------------------------------------------------------------------

// Converts floats to integers as x86 does: a value out of range becomes the least i64 for i64, u64
// and u32, else the least i32, of which narrower integers keep the low bits.
template <typename To, typename From>
inline To FromFloat(From v) {
  if constexpr (std::is_same<To, uint64_t>::value) {
    const bool high = v >= static_cast<From>(0x1p63) && v < static_cast<From>(0x1p64);
    const int64_t low = static_cast<int64_t>(high ? v - static_cast<From>(0x1p63) : v);
    return static_cast<uint64_t>(low) + (high ? uint64_t{1} << 63 : 0);
  } else if constexpr (sizeof(To) == 8 || std::is_same<To, uint32_t>::value) {
    return static_cast<To>(static_cast<int64_t>(v));
  } else {
    return static_cast<To>(static_cast<int32_t>(v));
  }
}

template <typename To, typename From>
inline To ConvertOne(From v) {
  if constexpr (kIsBool<From>) {
    return ConvertOne<To, uint8_t>(v.value);
  } else if constexpr (kIsBool<To>) {
    return Bool{static_cast<uint8_t>(v != 0)};
  } else if constexpr (kIsFloat<From> && kIsInt<To>) {
    return FromFloat<To, From>(v);
  } else {
    return static_cast<To>(v);
  }
}

template <typename To, typename From>
void Convert(void* dst, const void* a, const void*, const void*, int64_t n) {
  To* to = static_cast<To*>(dst);
  const From* from = static_cast<const From*>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = ConvertOne<To, From>(from[i]);
}

// --- Narrow floats ----------------------------------------------------------------

// The memory layout of a dtype's elements, and their type in a tile.
template <typename T>
struct Plain {
  using Memory = T;
  using Tile = T;
  static inline T Load(T v) { return v; }
  static inline T Store(T v) { return v; }
};
struct Half {
  using Memory = uint16_t;
  using Tile = float;
  static inline float Load(uint16_t v) { return _cvtsh_ss(v); }
  static inline uint16_t Store(float v) {
    return static_cast<uint16_t>(_cvtss_sh(v, _MM_FROUND_TO_NEAREST_INT));
  }
};
struct BFloat {
  using Memory = uint16_t;
  using Tile = float;
  static inline float Load(uint16_t v) { return BF16ToFloat(v); }
  static inline uint16_t Store(float v) { return FloatToBF16(v); }
};
// f8e8m0, element by element.
struct Scale8 {
  using Memory = uint8_t;
  using Tile = float;
  static inline float Load(uint8_t v) { return static_cast<float>(DecodeFloat(DType::kF8E8M0, v)); }
  static inline uint8_t Store(float v) {
    return static_cast<uint8_t>(EncodeFloat(DType::kF8E8M0, static_cast<double>(v)));
  }
};

inline float FromBits(uint32_t bits) {
  float v;
  __builtin_memcpy(&v, &bits, sizeof v);
  return v;
}
inline uint32_t ToBits(float v) {
  uint32_t bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  return bits;
}

// Codes behind the largest finite one.
enum class Float8End { kInfinity, kNan, kNegativeZeroIsNan };

// Other 8-bit floats, without branches, as DecodeFloat and EncodeFloat have them.
template <int kMantissa, int kBias, Float8End kEnd>
struct Float8 {
  using Memory = uint8_t;
  using Tile = float;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias);
  // The least normal number has kMantissa bits above the unit of the subnormal ones.
  static constexpr uint32_t kLeastNormal = (kRebias + 1) << 23;
  static constexpr uint32_t kUnit = kLeastNormal - (static_cast<uint32_t>(kMantissa) << 23);
  static constexpr int32_t kLargest = kEnd == Float8End::kInfinity ? 0x7b
                                      : kEnd == Float8End::kNan    ? 0x7e
                                                                   : 0x7f;

  static inline float Load(uint8_t v) {
    const uint32_t sign = static_cast<uint32_t>(v & 0x80) << 24;
    const int32_t code = v & 0x7f;
    const uint32_t normal = (static_cast<uint32_t>(code) << kShift) + (kRebias << 23);
    const uint32_t small = ToBits(static_cast<float>(code) * FromBits(kUnit));
    uint32_t bits = sign | (code >= 1 << kMantissa ? normal : small);
    if constexpr (kEnd == Float8End::kNegativeZeroIsNan) {
      bits = v == 0x80 ? 0x7fc00000 : bits;
    } else {
      const uint32_t quiet = kEnd == Float8End::kNan || code > kLargest + 1 ? 0x400000 : 0;
      const uint32_t end = 0x7f800000 | (static_cast<uint32_t>(code) << kShift & 0x7fffff) | quiet;
      bits = code > kLargest ? sign | end : bits;
    }
    return FromBits(bits);
  }

  static inline uint8_t Store(float v) {
    const uint32_t bits = ToBits(v);
    const uint32_t sign = bits >> 24 & 0x80;
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t odd = magnitude >> kShift & 1;
    const uint32_t normal =
        ((magnitude + (1u << (kShift - 1)) - 1 + odd) >> kShift) - (kRebias << kMantissa);
    // 2^23 units: in a sum with it, the units are the last bits.
    const uint32_t units = kUnit + (23u << 23);
    const uint32_t small = ToBits(FromBits(magnitude) + FromBits(units)) - units;
    const auto code = static_cast<int32_t>(magnitude >= kLeastNormal ? normal : small);
    uint32_t result = sign | static_cast<uint32_t>(code);
    if constexpr (kEnd == Float8End::kInfinity) {
      const uint32_t nan = 0x7e | (magnitude >> kShift & 1);
      const uint32_t end = magnitude > 0x7f800000 ? nan : 0x7c;
      result = code > kLargest ? sign | end : result;
    } else if constexpr (kEnd == Float8End::kNan) {
      result = code > kLargest ? sign | 0x7f : result;
    } else {
      result = code > kLargest ? 0x80 : code == 0 ? 0 : result;
    }
    return static_cast<uint8_t>(result);
  }
};

// Calls fn with the memory layout of the dtype.
template <typename R, typename Fn>
R VisitMemory(DType dtype, R none, Fn fn) {
  switch (dtype) {
    case DType::kF16:
      return fn(Half{});
    case DType::kBF16:
      return fn(BFloat{});
    case DType::kF8E4M3:
      return fn(Float8<3, 7, Float8End::kNan>{});
    case DType::kF8E5M2:
      return fn(Float8<2, 15, Float8End::kInfinity>{});
    case DType::kF8E4M3FNUZ:
      return fn(Float8<3, 8, Float8End::kNegativeZeroIsNan>{});
    case DType::kF8E5M2FNUZ:
      return fn(Float8<2, 16, Float8End::kNegativeZeroIsNan>{});
    case DType::kF8E8M0:
      return fn(Scale8{});
    default:
      return VisitCompute(dtype, none, [&](auto zero) { return fn(Plain<decltype(zero)>{}); });
  }
}

// The compiler does not vectorise the scalar conversion, so this handles blocks of 8.
int64_t LoadHalves(float* to, const uint16_t* from, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  return i;
}
int64_t StoreHalves(uint16_t* to, const float* from, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
  return i;
}

// The vector code of 8-bit floats is long: there is one loop that loads them and one that stores
// them, on blocks of neighbouring elements.
template <typename L>
constexpr bool kIsFloat8 = kIsFloat<typename L::Tile> && sizeof(typename L::Memory) == 1;
constexpr int64_t kFloat8Block = 256;

template <typename L>
void Load(void* dst, const void* src, int64_t stride, int64_t n) {
  using Memory = typename L::Memory;
  auto* to = static_cast<typename L::Tile*>(dst);
  const Memory* from = static_cast<const Memory*>(src);
  if (stride == 1) {
    int64_t i = 0;
    if constexpr (std::is_same<L, Half>::value) i = LoadHalves(to, from, n);
#pragma GCC ivdep
    for (; i < n; ++i) to[i] = L::Load(from[i]);
    return;
  }
  if constexpr (kIsFloat8<L>) {
    uint8_t codes[kFloat8Block];
    for (int64_t i = 0; i < n; i += kFloat8Block) {
      const int64_t count = n - i < kFloat8Block ? n - i : kFloat8Block;
      for (int64_t j = 0; j < count; ++j) codes[j] = from[(i + j) * stride];
      Load<L>(to + i, codes, 1, count);
    }
    return;
  }
  // Every second element, as of shuffled channels: a constant stride becomes shuffles of vectors.
  if (stride == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = L::Load(from[i * 2]);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = L::Load(from[i * stride]);
}

template <typename L>
void Store(void* dst, const void* src, int64_t stride, int64_t n) {
  using Memory = typename L::Memory;
  Memory* to = static_cast<Memory*>(dst);
  const auto* from = static_cast<const typename L::Tile*>(src);
  if (stride == 1) {
    int64_t i = 0;
    if constexpr (std::is_same<L, Half>::value) i = StoreHalves(to, from, n);
#pragma GCC ivdep
    for (; i < n; ++i) to[i] = L::Store(from[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i * stride] = L::Store(from[i]);
}

template <typename L>
void Gather(void* tile, void* memory, const int64_t* offsets, int64_t n) {
  auto* to = static_cast<typename L::Tile*>(tile);
  const auto* from = static_cast<const typename L::Memory*>(memory);
  for (int64_t i = 0; i < n; ++i) to[i] = L::Load(from[offsets[i]]);
}

template <typename L>
void Scatter(void* tile, void* memory, const int64_t* offsets, int64_t n) {
  const auto* from = static_cast<const typename L::Tile*>(tile);
  auto* to = static_cast<typename L::Memory*>(memory);
  for (int64_t i = 0; i < n; ++i) to[offsets[i]] = L::Store(from[i]);
}

// --- Rounding, filling, indices ---------------------------------------------------

template <typename T, typename L>
void Round(void* dst, const void* a, const void*, const void*, int64_t n) {
  T* to = static_cast<T*>(dst);
  const T* from = static_cast<const T*>(a);
  if constexpr (kIsFloat8<L>) {
    float values[kFloat8Block];
    uint8_t codes[kFloat8Block];
    for (int64_t i = 0; i < n; i += kFloat8Block) {
      const int64_t count = n - i < kFloat8Block ? n - i : kFloat8Block;
      for (int64_t j = 0; j < count; ++j) values[j] = static_cast<float>(from[i + j]);
      Store<L>(codes, values, 1, count);
      Load<L>(values, codes, 1, count);
      for (int64_t j = 0; j < count; ++j) to[i + j] = static_cast<T>(values[j]);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<T>(L::Load(L::Store(static_cast<typename L::Tile>(from[i]))));
  }
}

template <typename T>
TileFn RoundVia(DType via) {
  return VisitMemory(via, TileFn{}, [](auto layout) -> TileFn {
    using L = decltype(layout);
    if constexpr (kIsFloat<typename L::Tile>) return Round<T, L>;
    return nullptr;
  });
}

template <typename T>
void Broadcast(void* dst, const void* a, const void*, const void*, int64_t n) {
  T* to = static_cast<T*>(dst);
  const T value = *static_cast<const T*>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}

template <typename T>
bool AddTerm(int64_t* offsets, const void* index, int64_t stride, int64_t bound, int64_t n) {
  const T* from = static_cast<const T*>(index);
  bool inside = true;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = static_cast<int64_t>(from[i]);
    at += at < 0 ? bound : 0;
    const bool fits = at >= 0 && at < bound;
    inside &= fits;
    offsets[i] += fits ? at * stride : 0;
  }
  return inside;
}

template <typename T>
void Iota(void* dst, int64_t start, int64_t step, int64_t n) {
  T* to = static_cast<T*>(dst);
  for (int64_t i = 0; i < n; ++i) to[i] = ConvertOne<T, int64_t>(start + i * step);
}

}  // namespace

TileFn FindConvert(DType to, DType from) {
  return VisitCompute(to, TileFn{}, [from](auto t) {
    return VisitCompute(from, TileFn{},
                        [](auto f) -> TileFn { return Convert<decltype(t), decltype(f)>; });
  });
}

TileFn FindRound(DType dtype, DType via) {
  if (dtype == DType::kF32) return RoundVia<float>(via);
  return dtype == DType::kF64 ? RoundVia<double>(via) : nullptr;
}

TileFn FindBroadcast(DType dtype) {
  return VisitCompute(dtype, TileFn{},
                      [](auto zero) -> TileFn { return Broadcast<decltype(zero)>; });
}

MoveFn FindLoad(DType memory) {
  return VisitMemory(memory, MoveFn{}, [](auto l) -> MoveFn { return Load<decltype(l)>; });
}

MoveFn FindStore(DType memory) {
  return VisitMemory(memory, MoveFn{}, [](auto l) -> MoveFn { return Store<decltype(l)>; });
}

GatherFn FindGather(DType memory) {
  return VisitMemory(memory, GatherFn{}, [](auto l) -> GatherFn { return Gather<decltype(l)>; });
}

GatherFn FindScatter(DType memory) {
  return VisitMemory(memory, GatherFn{}, [](auto l) -> GatherFn { return Scatter<decltype(l)>; });
}

TermFn FindTerm(DType index) {
  return VisitCompute(index, TermFn{}, [](auto zero) -> TermFn {
    using T = decltype(zero);
    if constexpr (kIsInt<T>) return AddTerm<T>;
    return nullptr;
  });
}

IotaFn FindIota(DType dtype) {
  return VisitCompute(dtype, IotaFn{}, [](auto zero) -> IotaFn { return Iota<decltype(zero)>; });
}

}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu
