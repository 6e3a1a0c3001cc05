// Maximum and minimum of two numbers as in IEEE 754-2019: NaN wins, and 0 is larger than -0.
// Symmetric in the operands.
#ifndef WEFT_GRAPH_OPS_SUPPORT_EXTREMA_H_
#define WEFT_GRAPH_OPS_SUPPORT_EXTREMA_H_

#include <cmath>
#include <type_traits>

namespace weft::ops {

template <typename T>
T Larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

template <typename T>
T Smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_EXTREMA_H_
