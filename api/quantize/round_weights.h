// Codes of quantized weights by what the products compute, not by the weights alone.
#ifndef WEFT_API_QUANTIZE_ROUND_WEIGHTS_H_
#define WEFT_API_QUANTIZE_ROUND_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/quantize/bias_correction.h"
#include "backends/backend.h"
#include "graph/ir/module.h"

namespace weft {

// Chooses anew the codes of the weights of linears, and of matmuls with a matrix, that are
// dequantized integers with constant scales, by GPTQ (passes/quantize/gptq.h) with the inputs that
// the products have in `before`. Scales and zero points stay, and so do the codes where the error
// over the batches does not fall, and those of products with more than 8192 inputs. A line for each
// product. Second moments of some products are gathered in one run of each batch.
absl::StatusOr<std::vector<std::string>> RoundWeights(const Module& before, Module& after,
                                                      absl::Span<const QuantizedProduct> products,
                                                      absl::Span<const CalibrationBatch> batches,
                                                      const Backend& backend);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_ROUND_WEIGHTS_H_
