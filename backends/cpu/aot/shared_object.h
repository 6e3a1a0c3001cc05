// Writes models as shared objects (standalone/model_library.h) with the system's compiler.
#ifndef WEFT_BACKENDS_CPU_AOT_SHARED_OBJECT_H_
#define WEFT_BACKENDS_CPU_AOT_SHARED_OBJECT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/target/target.h"

namespace weft {
struct Plan;
}

namespace weft::cpu {

struct SharedObjectOptions {
  // Looked up in PATH unless it is a path itself: GCC or clang.
  std::string compiler = "c++";
};

// A plan, and the target that it was made for.
struct PlanForSet {
  const Plan* plan = nullptr;
  const Target* target = nullptr;
  std::string instruction_set;  // As the file names that of the target.
};

// `write_file` writes the .weftb file with the plans at a path that it gets. Kernels that C++
// cannot express stay with the interpreter. Writes `path` whole or not at all. NotFound if there is
// no such compiler, Internal with its message if it fails.
absl::Status WriteSharedObject(absl::Span<const PlanForSet> plans,
                               absl::FunctionRef<absl::Status(const std::string& path)> write_file,
                               const std::string& path, const SharedObjectOptions& options = {});

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_AOT_SHARED_OBJECT_H_
