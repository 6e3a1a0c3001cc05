// Biases that make up for the mean error of quantization.
#ifndef WEFT_API_QUANTIZE_BIAS_CORRECTION_H_
#define WEFT_API_QUANTIZE_BIAS_CORRECTION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

// Inputs by name.
using CalibrationBatch = std::map<std::string, HostTensor>;

// A convolution, linear or matmul before and after it was quantized.
struct QuantizedProduct {
  Node* before = nullptr;
  Node* after = nullptr;
};

// Adds to the bias of each product, in the order given, which is that of the graph, the mean over
// the batches of the float result less the quantized one, by channel; products before it have
// their corrected biases then. The bias of a matmul is the constant vector that its only reader
// adds. Products whose bias is neither absent nor a float constant are left out, and so are
// matmuls without one and means that are not finite. One run of the quantized module for each
// product and batch.
absl::Status CorrectBiases(const Module& before, Module& after,
                           absl::Span<const QuantizedProduct> products,
                           absl::Span<const CalibrationBatch> batches, const Backend& backend);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_BIAS_CORRECTION_H_
