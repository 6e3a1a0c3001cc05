// com.microsoft MatMulNBits: products with weights of 4 or 8 bits that are packed as ONNX Runtime
// documents it. The op matmul_nbits is written so where its groups allow it.
//
// On request alone (OnnxExportOptions::matmul_nbits), a product is written so where its weight is a
// constant that is dequantized in blocks along the dim that is summed: matmul(x,
// dequantize_linear(q[K, N], axis=0)), the same of a transposed q[N, K] with axis=1, and linear(x,
// dequantize_linear(q[N, K], axis=1), bias). The values are the same; weights without another user
// are left out.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_NBITS_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_NBITS_H_

#include "absl/status/status.h"

namespace weft {
class Node;
}  // namespace weft

namespace weft::onnx_export {

class NodeExport;

// Whether the product can be written as MatMulNBits.
bool HasPackedWeight(const Node& product);

// Writes the product; HasPackedWeight() holds.
void ExportMatMulNBits(NodeExport& e);

// Whether the node only leads to weights of such products, so that nothing of it is written.
bool IsPackedAway(const Node& node);

// Writes matmul_nbits. Unsupported for groups, dtypes or sizes that MatMulNBits does not have.
absl::Status ExportMatmulNbitsOp(NodeExport& e);

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_NBITS_H_
