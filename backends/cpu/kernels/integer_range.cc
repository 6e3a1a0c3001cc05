#include "backends/cpu/kernels/integer_range.h"

namespace weft::cpu {

void RangeOfI32(const int32_t* values, int64_t n, int32_t* low, int32_t* high) {
  int32_t least = *low;
  int32_t most = *high;
  for (int64_t i = 0; i < n; ++i) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  *low = least;
  *high = most;
}

}  // namespace weft::cpu
