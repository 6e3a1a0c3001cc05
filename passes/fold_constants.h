// Evaluates nodes whose operands are all constants, within limits.
#ifndef WEFT_PASSES_FOLD_CONSTANTS_H_
#define WEFT_PASSES_FOLD_CONSTANTS_H_

#include <cstdint>
#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct FoldConstantsOptions {
  // A node is folded if its results take at most this many times the bytes of the constants that
  // have no other use ...
  double ratio = 1.0;
  // ... or at most this many bytes more than those.
  int64_t node_bytes = 64 << 10;
  // All constants in use may grow to this many times those of the input module, plus 1 MiB.
  double max_growth = 1.1;
  // Limit of the multiplications of one evaluation, as far as sizes are known.
  int64_t max_work = int64_t{1} << 28;
  // Constants of 8-bit floats, and narrower ones, are widened whatever their size: for targets that
  // convert such numbers one by one, and would convert weights in each run.
  bool widen_floats = false;
};

// Does not fold effects, nested graphs, data-dependent sizes, attributes with symbols, and an
// `expand` that grows, whose small operand is more useful than its result. Constants that are only
// cut up and put together in another order are folded whatever their size. If an evaluation fails,
// the node stays and fails at run time. Counters: folded, over_budget, failed. Remarks name nodes
// that were not folded.
std::unique_ptr<Pass> CreateFoldConstantsPass(const FoldConstantsOptions& options);
std::unique_ptr<Pass> CreateFoldConstantsPass();

}  // namespace weft

#endif  // WEFT_PASSES_FOLD_CONSTANTS_H_
