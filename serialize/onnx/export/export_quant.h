// Which opset the quantized form of a node needs.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_QUANT_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_QUANT_H_

#include "absl/types/span.h"
#include "graph/tensor/type.h"

namespace weft {
class Module;
class Node;
}  // namespace weft

namespace weft::onnx_export {

// The lowest opset in which QuantizeLinear or DequantizeLinear writes this quantize_linear or
// dequantize_linear; 0 where ONNX has no such form and the node is decomposed.
int OpsetOfQuantization(const Node& node);

// The lowest opset, from `least`, that has the dtypes of all values of `module` and keeps its
// quantize_linear and dequantize_linear nodes as operators. Other ops may need a newer one.
int OpsetOfQuantization(const Module& module, int least);

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_QUANT_H_
