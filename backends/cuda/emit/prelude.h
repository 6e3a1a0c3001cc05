// Declarations that begin each unit of CUDA C++.
#ifndef WEFT_BACKENDS_CUDA_EMIT_PRELUDE_H_
#define WEFT_BACKENDS_CUDA_EMIT_PRELUDE_H_

#include <string>

namespace weft::cuda {

// Text that begins every unit: types, memory, conversions, arithmetic, reductions.
std::string Prelude();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_PRELUDE_H_
