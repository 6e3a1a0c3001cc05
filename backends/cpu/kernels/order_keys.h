// Unsigned integers in the order of the elements that they stand for.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ORDER_KEYS_H_
#define WEFT_BACKENDS_CPU_KERNELS_ORDER_KEYS_H_

#include <cstdint>

#include "graph/tensor/dtype.h"

namespace weft::cpu {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

template <typename U>
constexpr U kTop = U{1} << (8 * sizeof(U) - 1);
template <typename U>
constexpr U kLast = static_cast<U>(~U{0});

// Keys of elements as they lie in memory.
template <typename U>
struct UnsignedKey {
  static constexpr bool kHasNan = false;
  U operator()(U bits) const { return bits; }
};

template <typename U>
struct SignedKey {
  static constexpr bool kHasNan = false;
  U operator()(U bits) const { return static_cast<U>(bits ^ kTop<U>); }
};

// Zeros have one key, and NaN has the largest. `infinity`: the bits of that number. Without
// branches, so that loops become vectors.
template <typename U, U infinity>
struct FloatKey {
  static constexpr bool kHasNan = true;
  U operator()(U bits) const {
    const U magnitude = bits & static_cast<U>(~kTop<U>);
    const U negative = static_cast<U>(0 - (bits >> (8 * sizeof(U) - 1)));  // All bits, or none.
    const U number = static_cast<U>(bits ^ (negative | kTop<U>));
    const U same = static_cast<U>(number + static_cast<U>(bits == kTop<U>));  // Of both zeros.
    return static_cast<U>(same | static_cast<U>(0 - static_cast<U>(magnitude > infinity)));
  }
};

// Calls `use` with a number of the size of the dtype's elements, and what makes a key of it; not
// for dtypes without an order, and elements of part of a byte.
template <typename Use>
void WithKey(DType dtype, Use use) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return use(uint8_t{}, UnsignedKey<uint8_t>());
    case DType::kU16:
      return use(uint16_t{}, UnsignedKey<uint16_t>());
    case DType::kU32:
      return use(uint32_t{}, UnsignedKey<uint32_t>());
    case DType::kU64:
      return use(uint64_t{}, UnsignedKey<uint64_t>());
    case DType::kI8:
      return use(uint8_t{}, SignedKey<uint8_t>());
    case DType::kI16:
      return use(uint16_t{}, SignedKey<uint16_t>());
    case DType::kI32:
      return use(uint32_t{}, SignedKey<uint32_t>());
    case DType::kI64:
      return use(uint64_t{}, SignedKey<uint64_t>());
    case DType::kF16:
      return use(uint16_t{}, FloatKey<uint16_t, 0x7c00>());
    case DType::kBF16:
      return use(uint16_t{}, FloatKey<uint16_t, 0x7f80>());
    case DType::kF32:
      return use(uint32_t{}, FloatKey<uint32_t, 0x7f800000>());
    case DType::kF64:
      return use(uint64_t{}, FloatKey<uint64_t, uint64_t{0x7ff} << 52>());
    default:
      return;
  }
}

// The key whose largest one wins; NaN wins in either direction.
template <typename U, typename Key>
inline U Rank(U bits, Key key, bool largest) {
  const U ordered = key(bits);
  const bool kept = largest || (Key::kHasNan && ordered == kLast<U>);
  return static_cast<U>(ordered ^ static_cast<U>(static_cast<U>(kept) - 1));
}

// True for the dtypes that WithKey has keys for.
inline bool HasKey(DType dtype) {
  bool has = false;
  WithKey(dtype, [&](auto, auto) { has = true; });
  return has;
}

}  // namespace
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ORDER_KEYS_H_
