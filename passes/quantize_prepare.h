// Observers for the values that quantize_annotate has chosen.
//
// Each group of notes that share parameters gets one input, `observer.<k>`, that holds the state of
// its statistics and is written back, and one `observe` node for each of its values, right behind
// the value. A note under `observer` on each place names the input. The outputs of the graph and
// all values stay what they are: a calibration is an ordinary run.
//
// On entry the module does not write. Left alone: weights (constants, and inputs with an initial
// value that are not written), dynamic, fixed and derived specs. A nested graph with a place that
// would need an observer loses its notes, with a remark, and stays as it is.
#ifndef WEFT_PASSES_QUANTIZE_PREPARE_H_
#define WEFT_PASSES_QUANTIZE_PREPARE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/engine/pass.h"
#include "passes/quantize/sites.h"

namespace weft {

// One state.
struct ObserverPlan {
  // An index in the groups.
  int group = 0;
  std::string statistic;
  std::optional<int64_t> axis;
  // Slices along the axis.
  std::optional<int64_t> channels;
  // Each once.
  std::vector<Value*> values;
};

// Groups without observer are left out. An axis whose size is not constant is an error that names
// the value.
absl::StatusOr<std::vector<ObserverPlan>> PlanObservers(const Graph& graph,
                                                        const std::vector<SiteGroup>& groups);
// "histogram of %3 (relu)" or "min_max axis=1 of ..., ..."; a line for each.
std::string ToText(const std::vector<ObserverPlan>& plans);

std::unique_ptr<Pass> CreateQuantizePreparePass();

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_PREPARE_H_
