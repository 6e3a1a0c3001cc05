// Compiled files compared with the models that they were compiled from.
#ifndef WEFT_API_COMPILED_CHECK_H_
#define WEFT_API_COMPILED_CHECK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/backends.h"

namespace weft {

class Module;

namespace cpu {
class ModelLibrary;
}  // namespace cpu

// A part of a compiled file that was compared with its source.
struct CheckedProduct {
  // "plan" with interpreted kernels, or with "machine code"; "C++ source" beside a file, compiled;
  // "module": a session ran the file's module, because the plan is for another target than the CPU.
  std::string product;
  std::string instruction_set;    // "" if it is not known.
  std::vector<std::string> runs;  // The types of the inputs of each run: "f32[7, 784]".
  double largest_error = 0;
};

struct CompiledCheck {
  // Floats agree within these parts of an element and of the largest one.
  static constexpr double kRelative = 1e-3;
  static constexpr double kOfLargest = 1e-4;

  std::vector<CheckedProduct> products;
  uint64_t seed = 0;  // Of the first run; each further run has the next one.
  int refused = 0;    // Runs whose inputs the source refused.
  // Instruction sets of plans that this machine cannot run.
  std::vector<std::string> unchecked;
  // The sizes of the inputs, the output and the elements that differ; "" if none do.
  std::string difference;

  // Runs of source and product whose results were compared.
  int compared() const;
  double largest_error() const;
  // "4 runs of source and plan agree; the largest difference is 1.2e-07"
  std::string ToString() const;
};

// Kernels by instruction set that are in a program and not in the file.
using LinkedKernels = std::map<std::string, std::shared_ptr<const cpu::ModelLibrary>>;

// Runs `source` on the reference executor, and the plans of the file that was compiled from it, one
// for each instruction set that this machine has, with interpreted kernels and with machine code,
// on equal seeded inputs: several assignments of the symbols, plain and wide elements. Outputs and
// new values of written inputs are compared within the tolerance for programs whose sums have
// another order. Errors: a file that cannot be read, or nothing could be compared. `linked` are
// kernels of a program beside the file.
absl::StatusOr<CompiledCheck> CheckCompiledFile(const Module& source, const Backend& backend,
                                                const std::string& path, uint64_t seed = 0,
                                                const LinkedKernels& linked = {});

}  // namespace weft

#endif  // WEFT_API_COMPILED_CHECK_H_
