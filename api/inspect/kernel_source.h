// The C++ that the CPU backend compiles for the kernels of a program.
#ifndef WEFT_API_INSPECT_KERNEL_SOURCE_H_
#define WEFT_API_INSPECT_KERNEL_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/target/target.h"

namespace weft {

class Module;

// A translation unit with the kernels of all plans of the module's functions for the target:
// AVX-512 where its vectors have 64 bytes, AVX2 where they have 32. The comment at its head has the
// command that compiles it, and for each function the kernel, its source nodes, and the sizes that
// it takes. `kernel`: only the kernel of that name, or the only one whose name begins so.
// InvalidArgument if there is none, with the most similar name; Unimplemented for the first kernel
// that C++ cannot express.
absl::StatusOr<std::string> KernelSource(const Module& module, const Target& target,
                                         absl::string_view kernel = "");

}  // namespace weft

#endif  // WEFT_API_INSPECT_KERNEL_SOURCE_H_
