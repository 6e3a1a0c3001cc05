// Which layers stay in float so that the model's error is within a budget.
#ifndef WEFT_API_QUANTIZE_MIXED_PRECISION_H_
#define WEFT_API_QUANTIZE_MIXED_PRECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/quantize/bias_correction.h"
#include "backends/backend.h"
#include "graph/ir/module.h"
#include "passes/quantize/annotate.h"

namespace weft {

// A layer, which is quantized as one, and what it does to the model by itself.
struct LayerCost {
  // Noise over signal of the outputs where it alone is quantized.
  double noise = 0;
  // Bytes of its weights in float, at least 1.
  int64_t bytes = 1;
};

// The layers to keep in float so that the noise of the others sums up to at most `allowed`, with
// few bytes: those with the most noise for a byte first, and then the largest of these that can be
// quantized after all. Ascending. Noise that is not finite is more than any other.
std::vector<int> DecideFloatLayers(absl::Span<const LayerCost> layers, double allowed);

struct FloatLayers {
  // Nodes of `exact` that stay in float.
  std::vector<const Node*> nodes;
  // A line for each layer.
  std::vector<std::string> lines;
};

// Takes the notes of layers off `prepared`, which is a calibrated module, so that the outputs of
// what it converts to, before further improvement, are at least `budget_db` from those of `exact`
// in signal to noise over the batches: the least over the outputs. `decision` is that about
// `exact`, the module without observers and notes. Layers are patterns of the main graph; each is
// quantized alone once to be measured, unless all of them together are good enough. Errors of
// layers do not sum up exactly, so the outcome is measured, and the sum allowed made smaller until
// it fits. FailedPrecondition where no layer can be quantized.
absl::StatusOr<FloatLayers> KeepWithinBudget(const Module& exact, const QuantDecision& decision,
                                             Module& prepared, double budget_db,
                                             absl::Span<const CalibrationBatch> batches,
                                             const Backend& backend);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_MIXED_PRECISION_H_
