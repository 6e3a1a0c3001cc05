// Products of one input as one product.
#ifndef WEFT_PASSES_FUSE_HORIZONTAL_PRODUCTS_H_
#define WEFT_PASSES_FUSE_HORIZONTAL_PRODUCTS_H_

#include "absl/status/status.h"
#include "passes/engine/pass_context.h"

namespace weft {

class Graph;

absl::Status MergeProducts(Graph& graph, PassContext& context);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_HORIZONTAL_PRODUCTS_H_
