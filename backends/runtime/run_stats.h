// Counts that an executor of plans keeps.
#ifndef WEFT_BACKENDS_RUNTIME_RUN_STATS_H_
#define WEFT_BACKENDS_RUNTIME_RUN_STATS_H_

#include <cstdint>

namespace weft {

// Counts of an executable's life; none of them grows in a steady state.
struct RunStats {
  // Assignments of the symbols that were met for the first time.
  int64_t assignments = 0;
  // Steps made, for an assignment or on the way.
  int64_t compiled_steps = 0;
  // Times that memory for temporaries or scratch was allocated.
  int64_t allocations = 0;
  // Bytes of temporaries and of scratch that are held.
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;
  // Library steps that no routine takes, by the op's own evaluation, of all
  // assignments; and runs of those whose routine refused the values.
  int64_t fallbacks = 0;
  // Write-backs that the last run stored in the memory of their inputs.
  int64_t in_place_writes = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_RUN_STATS_H_
