// The range of integers in memory. Unlike split_row.h, for every machine of the target.
#ifndef WEFT_BACKENDS_CPU_KERNELS_INTEGER_RANGE_H_
#define WEFT_BACKENDS_CPU_KERNELS_INTEGER_RANGE_H_

#include <cstdint>

namespace weft::cpu {

// Widens [*low, *high] until it holds the n values.
void RangeOfI32(const int32_t* values, int64_t n, int32_t* low, int32_t* high);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_RANGE_H_
