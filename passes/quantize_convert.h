// Quantized values as pairs of quantize_linear and dequantize_linear.
//
// For each group of notes the parameters are chosen: from the state of its observer, which is the
// initial value of the input `observer.<k>`; from the weight itself; from the value at run time
// (dynamic specs); from the spec (fixed); or as the product of the scales of operands 0 and 1
// (derived, for biases). A value of a group gets one quantize_linear, and each user that the notes
// name a dequantize_linear of its own; a note on the value itself names all users, the outputs of
// the graph included. A spec with a narrower range than its dtype's gets a clamp between both.
//
// On exit there are no observers, no inputs for them, and no notes under `quant` and `observer`.
// Errors name the node: no element was seen, a place that nothing observes, sizes of scales that
// are not constant. Counters: values, weights, dynamic, users, observers.
#ifndef WEFT_PASSES_QUANTIZE_CONVERT_H_
#define WEFT_PASSES_QUANTIZE_CONVERT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/engine/pass.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/sites.h"

namespace weft {

// The parameters of one group.
struct GroupParams {
  // None where they are computed at run time.
  QuantParams params;
  // The dims of the scales.
  std::vector<int64_t> dims;
  bool weight = false;
};

// One for each group.
absl::StatusOr<std::vector<GroupParams>> ChooseParams(const Graph& graph,
                                                      const std::vector<SiteGroup>& groups);
// "%3 (relu): u8 affine tensor histogram: scale 0.5, zero point 3", a line for each group.
std::string ToText(const std::vector<SiteGroup>& groups, const std::vector<GroupParams>& params);

std::unique_ptr<Pass> CreateQuantizeConvertPass();

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_CONVERT_H_
