// What the importers of quantized operators share. As in import_util.h, null values give null.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_QUANT_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_QUANT_H_

#include <cstdint>

#include "graph/tensor/dtype.h"
#include "serialize/onnx/import/import_context.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::onnx_import {

// A scale or zero point; one of one element says the same as one of rank 0, but for blocks.
Value* QuantParameter(NodeContext& c, Value* v, int64_t block_size = 0);

// The integer product of the quantized tensors `a` and `b`, less their zero points (or null),
// computed in `wide`. Zero points of a matrix `a` may be one for each row.
Value* IntegerMatMul(NodeContext& c, Value* a, Value* a_point, Value* b, Value* b_point,
                     DType wide);

// A tensor of f32, quantized to u8 by its own range.
struct DynamicallyQuantized {
  Value* value = nullptr;
  Value* scale = nullptr;
  Value* zero_point = nullptr;
};
DynamicallyQuantized QuantizeDynamically(NodeContext& c, Value* x);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_QUANT_H_
