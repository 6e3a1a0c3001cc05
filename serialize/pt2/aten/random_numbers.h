// Random draws that import functions share. Each call is a separate draw.
#ifndef WEFT_SERIALIZE_PT2_ATEN_RANDOM_NUMBERS_H_
#define WEFT_SERIALIZE_PT2_ATEN_RANDOM_NUMBERS_H_

#include "absl/types/span.h"
#include "serialize/pt2/aten_call.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::pt2 {

// Uniform in [0, 1).
Value* Uniform(AtenCall& c, absl::Span<const SymInt> size, DType dtype);
// Mean 0 and variance 1.
Value* Normal(AtenCall& c, absl::Span<const SymInt> size, DType dtype);

// `dtype` if random numbers of it are supported, else f32.
DType Drawable(DType dtype);

// Dropout: the mask is false with probability `p`; kept elements are scaled by 1 / (1 - p).
Value* KeepMask(AtenCall& c, absl::Span<const SymInt> size, double p);
Value* Dropped(AtenCall& c, Value* x, Value* mask, double p);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_RANDOM_NUMBERS_H_
