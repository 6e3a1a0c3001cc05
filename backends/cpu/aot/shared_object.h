// Machine code of plans' kernels (standalone/model_library.h), by the system's compiler.
#ifndef WEFT_BACKENDS_CPU_AOT_SHARED_OBJECT_H_
#define WEFT_BACKENDS_CPU_AOT_SHARED_OBJECT_H_

#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/kernel_source.h"

namespace weft::cpu {

struct SharedObjectOptions {
  // Looked up in PATH unless it is a path itself: GCC or clang.
  std::string compiler = "c++";
  // Called with the path of the object before it is at its place; `write_file` is called again
  // then, and may write another description of the same plans.
  std::function<absl::Status(const std::string& object)> check;
};

// The bytes of a shared object with the code of the plan's kernels alone. Errors are those of
// WriteSharedObject().
absl::StatusOr<std::string> MakeKernelObject(const PlanForSet& plan,
                                             const SharedObjectOptions& options = {});

// Writes a model as a shared object: its .weftb file and the code of the plans in it.
// `write_file` writes the .weftb file with the plans at a path that it gets. Kernels that C++
// cannot express stay with the interpreter. Writes `path` whole or not at all. NotFound if there is
// no such compiler, Internal with its message if it fails.
absl::Status WriteSharedObject(absl::Span<const PlanForSet> plans,
                               absl::FunctionRef<absl::Status(const std::string& path)> write_file,
                               const std::string& path, const SharedObjectOptions& options = {});

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_AOT_SHARED_OBJECT_H_
