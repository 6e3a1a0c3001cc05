// Evaluates nodes whose operands are all constants, within a budget.
#ifndef WEFT_PASSES_FOLD_CONSTANTS_H_
#define WEFT_PASSES_FOLD_CONSTANTS_H_

#include <cstdint>
#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct FoldConstantsOptions {
  // A node is folded when its results take at most this many times the bytes
  // of the constants that nobody else uses ...
  double ratio = 1.0;
  // ... or at most this many bytes more than those.
  int64_t node_bytes = 64 << 10;
  // All constants in use may grow to this many times what the module came with,
  // and 1 MiB.
  double max_growth = 1.1;
  // Bound on the multiplications (as far as sizes tell) of one evaluation.
  int64_t max_work = int64_t{1} << 28;
};

// Left alone: effects, nested graphs, sizes that depend on data, attributes with
// symbols, and `expand` that grows, whose small operand says more than its
// result. An evaluation that fails stays in the graph and fails when it runs.
// Counters: folded, over_budget, failed. Remarks say what would have folded.
std::unique_ptr<Pass> CreateFoldConstantsPass(const FoldConstantsOptions& options);
std::unique_ptr<Pass> CreateFoldConstantsPass();

}  // namespace weft

#endif  // WEFT_PASSES_FOLD_CONSTANTS_H_
