// Sizes and addresses that are rounded up.
#ifndef WEFT_BASE_ALIGN_H_
#define WEFT_BASE_ALIGN_H_

#include <cstdint>
#include <type_traits>

namespace weft {

// Bytes of a cache line of the machines that Weft runs on.
inline constexpr int64_t kCacheLine = 64;

// The least multiple of `to` that is not below `n`, where `n` is not negative, `to` is positive and
// n + to - 1 fits into the type. `to` has the type of `n`.
template <typename T>
constexpr T AlignUp(T n, std::common_type_t<T> to) {
  return (n + to - 1) / to * to;
}

}  // namespace weft

#endif  // WEFT_BASE_ALIGN_H_
