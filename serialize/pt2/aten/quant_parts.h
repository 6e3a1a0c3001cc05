// What the importers of quantization operators share.
#ifndef WEFT_SERIALIZE_PT2_ATEN_QUANT_PARTS_H_
#define WEFT_SERIALIZE_PT2_ATEN_QUANT_PARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "serialize/pt2/build.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::pt2 {

// The arguments quant_min and quant_max; where they are None or absent, the range of
// `dtype`.
struct QuantLimits {
  int64_t low = 0;
  int64_t high = 0;
};
QuantLimits QuantLimitsOf(AtenCall& c, DType dtype);

// An integer dtype of at most 16 bits that holds the limits, preferably `like`.
std::optional<DType> DTypeFor(const QuantLimits& limits, DType like);

// Which elements share a scale, as quantize_linear says it, and the sizes that scales
// have then.
struct Granularity {
  int64_t axis = 1;
  int64_t block_size = 0;
  Ints block_shape;
  SymInts scale_size;
};
Granularity WholeTensor();
Granularity AlongAxis(const Value* x, int axis);
// A block size for each dim of `x`, -1 for all of it.
Granularity InBlocks(const Value* x, const Ints& blocks);

// One block for each row along the last dim.
Ints RowBlocks(AtenCall& c, const Value* x);
// The argument `block_size`, -1 where it is the whole dim.
Ints BlocksOf(AtenCall& c, const Value* x);

// quantize_linear, limited to the arguments quant_min and quant_max. The zero point may be
// null.
Value* QuantizeLinear(AtenCall& c, Value* x, Value* scale, Value* zero, DType dtype,
                      const Granularity& granularity);

// dequantize_linear. The arguments quant_min and quant_max say nothing: PyTorch computes
// without them.
Value* DequantizeLinear(AtenCall& c, Value* q, Value* scale, Value* zero, DType dtype,
                        const Granularity& granularity);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_QUANT_PARTS_H_
