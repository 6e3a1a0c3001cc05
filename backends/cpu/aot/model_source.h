// A model as C++ source: its kernels, and a small interface of C for its inputs, outputs and sizes,
// which is compiled with the program that runs it and linked with the runtime. The plan and the
// weights are in the .weftb file.
#ifndef WEFT_BACKENDS_CPU_AOT_MODEL_SOURCE_H_
#define WEFT_BACKENDS_CPU_AOT_MODEL_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/kernel_source.h"
#include "backends/cpu/standalone/model_library.h"

namespace weft::cpu {

struct ModelSource {
  std::string header;  // NAME.h, which is C99 and C++.
  std::string source;  // NAME.cc, which includes it.
};

// The plans are of one function, for several instruction sets: flags of the compiler choose one of
// them. `name`, an identifier of C, begins the names of all that the header declares;
// `output_names` are those of the function's own outputs, and may be empty. Unimplemented for
// inputs that are neither tensors nor sizes.
absl::StatusOr<ModelSource> MakeModelSource(absl::Span<const PlanForSet> plans,
                                            absl::string_view name,
                                            absl::Span<const std::string> output_names);

// Compiles the kernels in NAME.cc, at the path, as a program that includes it does, for the
// instruction set of the plan. Errors are those of WriteSharedObject() (shared_object.h).
absl::StatusOr<std::shared_ptr<const ModelLibrary>> LoadModelSource(const std::string& path,
                                                                    const PlanForSet& plan,
                                                                    const std::string& compiler);

// `text` as an identifier of C.
std::string CIdentifier(absl::string_view text);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_AOT_MODEL_SOURCE_H_
