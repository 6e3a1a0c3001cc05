// Compiles kernels for the host with the C++ compiler of the machine.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_HOST_COMPILER_H_
#define WEFT_BACKENDS_CUDA_EMULATE_HOST_COMPILER_H_

#include <string>

namespace weft::cuda::emulate {

// Compiles the kernels in `source` to a shared library. On success returns true and sets `library`
// to its bytes; else `log` says why. Leaves no files behind. Thread-safe.
bool CompileForHost(const std::string& source, std::string* library, std::string* log);

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_HOST_COMPILER_H_
