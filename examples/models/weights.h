// Numbers from seeds: equal on every machine, gigabytes of them in a second.
#ifndef WEFT_EXAMPLES_MODELS_WEIGHTS_H_
#define WEFT_EXAMPLES_MODELS_WEIGHTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft {
class HostTensor;
}  // namespace weft

namespace weft::models {

// Scatters a seed and a name (FNV-1a, then a finalizer).
uint64_t SeedOf(uint64_t seed, absl::string_view name);

// f32, uniform in [low, high]. 24 random bits an element; one rounding, so
// that no compiler or machine gives other bits.
HostTensor UniformTensor(absl::Span<const int64_t> dims, double low, double high, uint64_t seed);

// Integers in [low, high), of an integer dtype or bool.
HostTensor IntegerTensor(DType dtype, absl::Span<const int64_t> dims, int64_t low, int64_t high,
                         uint64_t seed);

}  // namespace weft::models

#endif  // WEFT_EXAMPLES_MODELS_WEIGHTS_H_
