// The parameters of groups of places, before anything is edited.
#ifndef WEFT_PASSES_QUANTIZE_CHOOSE_PARAMS_H_
#define WEFT_PASSES_QUANTIZE_CHOOSE_PARAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/sites.h"

namespace weft {

// The parameters of one group.
struct GroupParams {
  // None where they are computed at run time or from weights in the program.
  QuantParams params;
  // The dims of the scales.
  std::vector<int64_t> dims;
  bool weight = false;
};

// One for each group. The states of observers are initial values of inputs of `function`, which the
// groups' graph is or belongs to.
absl::StatusOr<std::vector<GroupParams>> ChooseParams(const Graph& function,
                                                      const std::vector<SiteGroup>& groups);
// "%3 (relu): u8 affine tensor histogram: scale 0.5, zero point 3", a line for each group.
std::string ToText(const std::vector<SiteGroup>& groups, const std::vector<GroupParams>& params);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_CHOOSE_PARAMS_H_
