// Folds scales and shifts of channels into the linear or convolution before them.
#ifndef WEFT_PASSES_FREEZE_FOLD_CHANNELS_H_
#define WEFT_PASSES_FREEZE_FOLD_CHANNELS_H_

#include "absl/status/status.h"
#include "passes/engine/pass_context.h"

namespace weft {

class Graph;

// Visits the graph once, in order, so that a chain of several is folded too.
absl::Status FoldChannels(Graph& graph, PassContext& context);

}  // namespace weft

#endif  // WEFT_PASSES_FREEZE_FOLD_CHANNELS_H_
