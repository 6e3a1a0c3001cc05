// C++ of the kernels of plans, with tables for the runtime (standalone/model_entry.h).
#ifndef WEFT_BACKENDS_CPU_AOT_KERNEL_SOURCE_H_
#define WEFT_BACKENDS_CPU_AOT_KERNEL_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {
struct Plan;
struct Target;
}  // namespace weft

namespace weft::cpu {

struct CcTarget;

// A plan, and the target that it was made for.
struct PlanForSet {
  const Plan* plan = nullptr;
  const Target* target = nullptr;
  std::string instruction_set;  // As the file names that of the target.
  uint64_t hash = 0;            // Of the plan's text, as the file has it.
};

// The instructions and functions of the code, which are those of sessions: results are the same.
CcTarget CcTargetFor(const PlanForSet& plan);

// The kernels, whose names begin with `prefix`, the declarations of the tables, and the ModelCode
// `code`. Kernels that C++ cannot express stay with the interpreter.
absl::StatusOr<std::string> MakeKernelSource(const PlanForSet& plan, absl::string_view prefix,
                                             absl::string_view code);

// `text` as a literal of C.
std::string Literal(absl::string_view text);

// Defines SYMBOL and SYMBOL_end around the bytes of a file, at a page of its own: tensors in it are
// aligned as in the file. `path` is an expression for a literal that the assembler reads.
std::string FileSource(absl::string_view path, absl::string_view symbol);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_AOT_KERNEL_SOURCE_H_
