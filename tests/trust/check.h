// Runs a program on the reference executor and, compiled in some configuration, on `cpu`, and
// reports differences.
#ifndef WEFT_TESTS_TRUST_CHECK_H_
#define WEFT_TESTS_TRUST_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/executable.h"
#include "graph/ir/module.h"
#include "tests/trust/coverage.h"
#include "tests/trust/program.h"
#include "tests/trust/random.h"

namespace weft::trust {

// The configuration in which a program is compiled and run on `cpu`.
struct Configuration {
  std::string passes = "cpu";
  cpu::CpuOptions options;
  std::string ToString() const;
};

struct ConfigurationLimits {
  std::string isa;       // Empty: avx2 or native, at random.
  std::string passes;    // Empty: none, default or cpu, at random.
  int code_one_in = 50;  // One configuration in so many compiles generated code; 0: none.
  // f32_precision is "high" or "medium" in some configurations.
  bool narrow_precision = true;
};

Configuration RandomConfiguration(Random& random, const ConfigurationLimits& limits);

struct Totals {
  int64_t programs = 0;
  int64_t compared = 0;   // Programs that both executors ran.
  int64_t refused = 0;    // Programs that both executors refused.
  int64_t unfit = 0;      // Programs that no sizes fit, refused when compiled.
  int64_t strict = 0;     // Programs that `cpu` alone refused, by a guard on sizes.
  int64_t empty = 0;      // Programs that the reference alone refused, whose results are empty.
  int64_t trials = 0;     // Runs with errors, of programs whose results differ.
  int64_t generated = 0;  // Kernels in generated code.
  int64_t fallbacks = 0;  // Library steps without a routine.
  int64_t skipped = 0;    // Seeds that gave no program.
  Coverage coverage;
  std::string ToString() const;
};

// A program on `cpu`: the module after its passes, with an executable.
class CompiledProgram {
 public:
  static absl::StatusOr<CompiledProgram> Create(const Module& module,
                                                const Configuration& configuration, Totals* totals);
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);
  cpu::CpuStats stats() const { return executable_->stats(); }

 private:
  std::unique_ptr<Module> module_;
  std::unique_ptr<cpu::Executable> executable_;
};

// Relative error of the operands of matmuls and convolutions under these options.
double OperandErrorOf(const cpu::CpuOptions& options);

// OK when `cpu` gives what the reference gives: equal values, or a refusal for a refusal. The
// message of an error does not show the program.
absl::Status CheckAgainstReference(const TestProgram& program, const Configuration& configuration,
                                   Totals* totals);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_CHECK_H_
