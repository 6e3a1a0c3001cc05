// Moves scales between activations and weights of a float module, by samples of what it computes.
#ifndef WEFT_API_QUANTIZE_MIGRATE_SCALES_H_
#define WEFT_API_QUANTIZE_MIGRATE_SCALES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/quantize/bias_correction.h"
#include "backends/backend.h"
#include "graph/ir/module.h"
#include "passes/quantize/annotate.h"

namespace weft {

// Moves what passes/quantize/scale_migration.h chooses, where `decision` is what the policy says of
// the module. A line for each value that could take factors. The samples of some values are
// gathered in one run of each batch; the more elements they have, the fewer at a time.
absl::StatusOr<std::vector<std::string>> MigrateScales(Module& module,
                                                       const QuantDecision& decision,
                                                       absl::Span<const CalibrationBatch> batches,
                                                       const Backend& backend);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_MIGRATE_SCALES_H_
