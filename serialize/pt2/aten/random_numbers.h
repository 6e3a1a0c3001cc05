// Draws that import functions share. Each call is another draw.
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
// Of mean 0 and variance 1.
Value* Normal(AtenCall& c, absl::Span<const SymInt> size, DType dtype);

// `dtype` where numbers of it are drawn, else f32.
DType Drawable(DType dtype);

// Dropout: false with the probability `p`; what is kept grows by 1 / (1 - p).
Value* KeepMask(AtenCall& c, absl::Span<const SymInt> size, double p);
Value* Dropped(AtenCall& c, Value* x, Value* mask, double p);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_RANDOM_NUMBERS_H_
