// Scales and shifts of channels, folded into the product before them.
#ifndef WEFT_PASSES_FREEZE_FOLD_CHANNELS_H_
#define WEFT_PASSES_FREEZE_FOLD_CHANNELS_H_

#include "absl/status/status.h"
#include "passes/engine/pass_context.h"

namespace weft {

class Graph;

// Over the graph, once, in order: so a chain of several goes into one product.
absl::Status FoldChannels(Graph& graph, PassContext& context);

}  // namespace weft

#endif  // WEFT_PASSES_FREEZE_FOLD_CHANNELS_H_
