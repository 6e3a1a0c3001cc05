// The CPU executor against the reference on random programs.
#ifndef WEFT_TESTS_BACKENDS_CPU_DIFFERENTIAL_H_
#define WEFT_TESTS_BACKENDS_CPU_DIFFERENTIAL_H_

#include <cstdint>

#include "absl/status/status.h"

namespace weft::cpu {

struct DifferentialCounts {
  int64_t programs = 0;
  int64_t steps = 0;
  int64_t groups = 0;     // `fused` nodes that passes made, and more than that.
  int64_t generated = 0;  // Kernels in generated code.
  int64_t fallbacks = 0;  // Library steps that no routine takes.
  int64_t in_place = 0;   // Inputs that were written over.
};

// Makes the program of that seed, which updates some of its inputs, runs it twice with random
// choices of passes and of what they fuse, of threads, instruction set, generated code and of what
// the backend claims, and says what differs.
absl::Status CheckRandomProgram(uint64_t seed, DifferentialCounts* counts);

}  // namespace weft::cpu

#endif  // WEFT_TESTS_BACKENDS_CPU_DIFFERENTIAL_H_
