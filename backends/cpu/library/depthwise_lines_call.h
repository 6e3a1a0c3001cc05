// Calls of depthwise_lines.h: convolutions of u8 with one channel for each group.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_DEPTHWISE_LINES_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_DEPTHWISE_LINES_CALL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cpu/kernels/depthwise_lines.h"
#include "backends/cpu/library/integer_gemm_call.h"
#include "backends/cpu/library/library.h"

namespace weft::cpu {

// As MakeDepthwiseCall. Unimplemented for i8, for windows that the kernel does not have, and for
// weights that do not fit in i8.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeDepthwiseLinesCall(
    const IntegerGemmShape& shape, const IntegerWeightView& weights,
    const DepthwiseLineTable& table, int threads, bool has_zero_point);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_DEPTHWISE_LINES_CALL_H_
