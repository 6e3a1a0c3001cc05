// Names of kernels as in the source.
#ifndef WEFT_BACKENDS_CUDA_TRACE_DEMANGLE_H_
#define WEFT_BACKENDS_CUDA_TRACE_DEMANGLE_H_

#include <string>

namespace weft::cuda {

// The C++ name behind a symbol; other names, and null, as they are.
std::string Demangled(const char* symbol);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_DEMANGLE_H_
