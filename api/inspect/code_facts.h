// What a backend's compilers say about the code of a program that has not run.
#ifndef WEFT_API_INSPECT_CODE_FACTS_H_
#define WEFT_API_INSPECT_CODE_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/backend.h"

namespace weft {

class Module;

// Comment lines for the text of the plans of the module's functions (EmitFormat::kPlan): of
// kernels for the target "cuda" (backends/cuda/static_facts.h) where NVRTC is installed; no GPU is
// used. Empty for other targets, and without NVRTC.
absl::StatusOr<std::string> DescribeCode(const Module& module, const Backend& backend,
                                         const BackendOptions& options);

}  // namespace weft

#endif  // WEFT_API_INSPECT_CODE_FACTS_H_
