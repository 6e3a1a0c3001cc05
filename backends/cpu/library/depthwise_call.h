// Calls of depthwise_tile.h: convolutions of bytes with one channel for each group.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_DEPTHWISE_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_DEPTHWISE_CALL_H_

#include <memory>

#include "backends/cpu/kernels/depthwise_tile.h"
#include "backends/cpu/library/integer_gemm_call.h"

namespace weft::cpu {

// `weights` has one column for each channel, of depth 1. Operands as those of MakeIntegerPanelCall.
std::unique_ptr<LibraryCall> MakeDepthwiseCall(IntegerGemmShape shape,
                                               const IntegerWeightView& weights,
                                               const DepthwiseTable& table, int threads,
                                               bool has_zero_point);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_DEPTHWISE_CALL_H_
