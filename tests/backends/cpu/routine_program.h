// Programs of one op that the CPU has a routine for, compared with the reference executor.
#ifndef WEFT_TESTS_BACKENDS_CPU_ROUTINE_PROGRAM_H_
#define WEFT_TESTS_BACKENDS_CPU_ROUTINE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/cpu/executable.h"
#include "graph/tensor/tensor.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {

// Numbers between -scale and scale in no order.
HostTensor Noise(DType dtype, absl::Span<const int64_t> dims, double scale, int64_t seed);

struct RoutineRun {
  std::string isa = "native";
  int threads = 1;
};

// The program with its composites, of which exactly one step is a routine of `op`.
std::unique_ptr<Executable> RoutineProgram(absl::string_view text, absl::string_view op,
                                           const RoutineRun& run);

// Runs twice and compares with the reference executor on the same text. `fallbacks` steps fall
// back.
void ExpectAsReference(Executable& executable, absl::string_view text,
                       const std::vector<HostTensor>& inputs, Tolerance tolerance,
                       int fallbacks = 0);

// The same for both instruction sets, and one to three threads.
void ExpectRoutine(absl::string_view text, absl::string_view op,
                   const std::vector<HostTensor>& inputs, Tolerance tolerance);

}  // namespace weft::cpu

#endif  // WEFT_TESTS_BACKENDS_CPU_ROUTINE_PROGRAM_H_
