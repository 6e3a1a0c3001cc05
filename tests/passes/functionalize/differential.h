// Random programs, run unchanged and after the passes.
#ifndef WEFT_TESTS_PASSES_FUNCTIONALIZE_DIFFERENTIAL_H_
#define WEFT_TESTS_PASSES_FUNCTIONALIZE_DIFFERENTIAL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace weft {

// Features of the programs, counted so that their absence is noticed.
struct DifferentialCounts {
  int64_t programs = 0;
  int64_t writes = 0;
  int64_t replayed = 0;
  int64_t inverted = 0;
  int64_t write_backs = 0;
  int64_t returned = 0;  // By nested graphs that write what they capture.
  int64_t possible = 0;  // Updates that reinplace saw ...
  int64_t done = 0;      // ... and did in place.
  int64_t missed_bytes = 0;

  std::string ToString() const;
};

// The program of the seed, with real memory (mutable_interpreter.h), against
//   the reference executor on the same program,
//   functionalize, then the reference executor,
//   functionalize and reinplace, then real memory, and the executor,
//   for some, the default pipeline and reinplace, likewise:
// equal outputs and equal inputs in the end, to the bit (but for signs of zeros
// in the last). The error has the seed and the programs.
absl::Status CheckRandomProgram(uint32_t seed, DifferentialCounts* counts);

}  // namespace weft

#endif  // WEFT_TESTS_PASSES_FUNCTIONALIZE_DIFFERENTIAL_H_
