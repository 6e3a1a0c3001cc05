// Biases as integers, which the kernels of other run times take.
#ifndef WEFT_API_QUANTIZE_INTEGER_BIASES_H_
#define WEFT_API_QUANTIZE_INTEGER_BIASES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/module.h"

namespace weft {

// Makes a dequantized constant of i32 of each constant bias of a convolution, and of a linear with
// a result of two dims, whose operands are dequantized integers of at most 8 bits with constant
// scales for the tensor, and for the weight by channel too. The scale is the product of theirs and
// there is no zero point, so that the bias adds to sums of products of integers as it is. ONNX
// Runtime makes QLinearConv and QGemm of no other biases. A bias whose quotient by a scale does not
// fit in i32 stays as it is. Returns how many biases became integers.
absl::StatusOr<int64_t> MakeBiasesInteger(Module& module);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_INTEGER_BIASES_H_
