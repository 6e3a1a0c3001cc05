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

// How an 8-bit float has its numbers. Codes are without the sign.
struct Float8Format {
  int32_t mantissa;  // Bits.
  uint32_t rebias;   // 127 minus the bias.
  int32_t largest;   // The code of the largest number.
  // Loads: the byte that is NaN, if that is no code behind the largest one; and the first of those
  // whose NaN is quiet. Without a NaN the code behind the largest one is infinity.
  int32_t nan_byte, first_quiet;
  // Stores: the code of NaN, with a bit that its payload sets, and of what is too large; and the
  // bits that a zero keeps.
  uint32_t nan, nan_low, infinity, zero;
};
constexpr int32_t kNoByte = -1;
constexpr Float8Format kE4M3 = {3, 120, 0x7e, kNoByte, 0, 0x7f, 0, 0x7f, 0xff};
constexpr Float8Format kE5M2 = {2, 112, 0x7b, kNoByte, 0x7d, 0x7e, 1, 0x7c, 0xff};
constexpr Float8Format kE4M3Fnuz = {3, 119, 0x7f, 0x80, 0, 0x80, 0, 0x80, 0x7f};
constexpr Float8Format kE5M2Fnuz = {2, 111, 0x7f, 0x80, 0, 0x80, 0, 0x80, 0x7f};

// Without branches, as DecodeFloat and EncodeFloat have them. The least normal number has as many
// bits as the mantissa above the unit of the subnormal ones.
inline uint32_t LeastNormal(const Float8Format& f) { return (f.rebias + 1) << 23; }
inline uint32_t UnitOf(const Float8Format& f) {
  return LeastNormal(f) - (static_cast<uint32_t>(f.mantissa) << 23);
}

inline float LoadFloat8(const Float8Format& f, uint8_t v) {
  const int shift = 23 - f.mantissa;
  const uint32_t sign = static_cast<uint32_t>(v & 0x80) << 24;
  const int32_t code = v & 0x7f;
  const uint32_t normal = (static_cast<uint32_t>(code) << shift) + (f.rebias << 23);
  const uint32_t small = ToBits(static_cast<float>(code) * FromBits(UnitOf(f)));
  const uint32_t quiet = code >= f.first_quiet ? 0x400000 : 0;
  const uint32_t end = 0x7f800000 | (static_cast<uint32_t>(code) << shift & 0x7fffff) | quiet;
  uint32_t bits = sign | (code >= 1 << f.mantissa ? normal : small);
  bits = code > f.largest ? sign | end : bits;
  bits = v == f.nan_byte ? 0x7fc00000 : bits;
  return FromBits(bits);
}

inline uint8_t StoreFloat8(const Float8Format& f, float v) {
  const int shift = 23 - f.mantissa;
  const uint32_t bits = ToBits(v);
  const uint32_t sign = bits >> 24 & 0x80;
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t odd = magnitude >> shift & 1;
  const uint32_t normal =
      ((magnitude + (1u << (shift - 1)) - 1 + odd) >> shift) - (f.rebias << f.mantissa);
  // 2^23 units: in a sum with it, the units are the last bits.
  const uint32_t units = UnitOf(f) + (23u << 23);
  const uint32_t small = ToBits(FromBits(magnitude) + FromBits(units)) - units;
  const auto code = static_cast<int32_t>(magnitude >= LeastNormal(f) ? normal : small);
  const uint32_t end = magnitude > 0x7f800000 ? f.nan | (odd & f.nan_low) : f.infinity;
  const uint32_t found = code > f.largest ? end : static_cast<uint32_t>(code);
  return static_cast<uint8_t>((sign | found) & (found == 0 ? f.zero : 0xff));
}

// The loops of all formats.
[[gnu::noinline]] void LoadFloat8s(Float8Format f, float* to, const uint8_t* from, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = LoadFloat8(f, from[i]);
}
[[gnu::noinline]] void StoreFloat8s(Float8Format f, uint8_t* to, const float* from, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = StoreFloat8(f, from[i]);
}

template <const Float8Format& kFormat>
struct Float8 {
  using Memory = uint8_t;
  using Tile = float;
  static inline float Load(uint8_t v) { return LoadFloat8(kFormat, v); }
  static inline uint8_t Store(float v) { return StoreFloat8(kFormat, v); }
  static inline void LoadAll(float* to, const uint8_t* from, int64_t n) {
    LoadFloat8s(kFormat, to, from, n);
  }
  static inline void StoreAll(uint8_t* to, const float* from, int64_t n) {
    StoreFloat8s(kFormat, to, from, n);
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
      return fn(Float8<kE4M3>{});
    case DType::kF8E5M2:
      return fn(Float8<kE5M2>{});
    case DType::kF8E4M3FNUZ:
      return fn(Float8<kE4M3Fnuz>{});
    case DType::kF8E5M2FNUZ:
      return fn(Float8<kE5M2Fnuz>{});
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

template <typename L>
struct IsFloat8 : std::false_type {};
template <const Float8Format& kFormat>
struct IsFloat8<Float8<kFormat>> : std::true_type {};
// Elements that are moved by way of neighbouring ones.
constexpr int64_t kFloat8Block = 256;

template <typename L>
void Load(void* dst, const void* src, int64_t stride, int64_t n) {
  using Memory = typename L::Memory;
  auto* to = static_cast<typename L::Tile*>(dst);
  const Memory* from = static_cast<const Memory*>(src);
  if constexpr (IsFloat8<L>::value) {
    if (stride == 1) return L::LoadAll(to, from, n);
    uint8_t codes[kFloat8Block];
    for (int64_t i = 0; i < n; i += kFloat8Block) {
      const int64_t count = n - i < kFloat8Block ? n - i : kFloat8Block;
      for (int64_t j = 0; j < count; ++j) codes[j] = from[(i + j) * stride];
      L::LoadAll(to + i, codes, count);
    }
    return;
  }
  if (stride == 1) {
    int64_t i = 0;
    if constexpr (std::is_same<L, Half>::value) i = LoadHalves(to, from, n);
#pragma GCC ivdep
    for (; i < n; ++i) to[i] = L::Load(from[i]);
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
  if constexpr (IsFloat8<L>::value) {
    if (stride == 1) return L::StoreAll(to, from, n);
    uint8_t codes[kFloat8Block];
    for (int64_t i = 0; i < n; i += kFloat8Block) {
      const int64_t count = n - i < kFloat8Block ? n - i : kFloat8Block;
      L::StoreAll(codes, from + i, count);
      for (int64_t j = 0; j < count; ++j) to[(i + j) * stride] = codes[j];
    }
    return;
  }
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
  if constexpr (IsFloat8<L>::value) {
    float values[kFloat8Block];
    uint8_t codes[kFloat8Block];
    for (int64_t i = 0; i < n; i += kFloat8Block) {
      const int64_t count = n - i < kFloat8Block ? n - i : kFloat8Block;
      for (int64_t j = 0; j < count; ++j) values[j] = static_cast<float>(from[i + j]);
      L::StoreAll(codes, values, count);
      L::LoadAll(values, codes, count);
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
