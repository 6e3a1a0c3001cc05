// Counters of the executor of plans.
#ifndef WEFT_BACKENDS_RUNTIME_RUN_STATS_H_
#define WEFT_BACKENDS_RUNTIME_RUN_STATS_H_

#include <cstdint>

namespace weft {

// Counters of an executable's life; in a steady state they do not grow.
struct RunStats {
  // Assignments of the symbols, each counted when it is first seen.
  int64_t assignments = 0;
  // Steps compiled, for an assignment or during a run.
  int64_t compiled_steps = 0;
  // Allocations of memory for temporaries or scratch.
  int64_t allocations = 0;
  // Bytes held for temporaries and for scratch.
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;
  // Fallbacks to evaluation on the host: library steps without code, in all assignments; and
  // launches whose routine refused its operands.
  int64_t fallbacks = 0;
  // Write-backs that the last run stored in the memory of their inputs.
  int64_t in_place_writes = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_RUN_STATS_H_
