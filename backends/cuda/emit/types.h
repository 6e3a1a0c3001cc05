// Names of dtypes in CUDA C++.
#ifndef WEFT_BACKENDS_CUDA_EMIT_TYPES_H_
#define WEFT_BACKENDS_CUDA_EMIT_TYPES_H_

#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

// The type of a dtype in memory ("m_bf16") and as a value ("f32", "bool").
std::string MemoryType(DType dtype);
std::string ValueType(DType dtype);
// The type of an element that was loaded: f32 for floats of less bits.
std::string LoadedType(DType dtype);
// The dtype as which a product reads a dtype's elements: unsigned for integers, whose sums wrap.
DType ProductDType(DType dtype);
// The type of the sums of a ProductDType: f32 for floats of up to 32 bits.
std::string SumType(DType dtype);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_TYPES_H_
