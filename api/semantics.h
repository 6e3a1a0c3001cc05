// Do two modules compute the same? Asked of the reference executor.
#ifndef WEFT_API_SEMANTICS_H_
#define WEFT_API_SEMANTICS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/core/graph.h"
#include "passes/pass_context.h"

namespace weft {

struct SemanticsOptions {
  uint64_t seed = 0;
  // Runs with other sizes of the symbols and other elements; the last one has
  // edge values (infinities, NaN, extremes) among the elements.
  int runs = 3;
};

struct SemanticsResult {
  int compared = 0;
  // Runs in which `before` itself refused the inputs (an index out of range,
  // say), so that there was nothing to compare with.
  int refused = 0;
};

// Runs `main` of both on equal seeded inputs and compares the outputs within
// `contract`: bit-exact (any NaN equals any NaN), value-safe (zeros of either
// sign are equal too), or within a few units in the last place for the weaker
// ones. FailedPrecondition names the run, its seed and the output that differs.
absl::StatusOr<SemanticsResult> CompareSemantics(
    const Module& before, const Module& after, NumericContract contract,
    const SemanticsOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_SEMANTICS_H_
