// Ops of a program's own as operators of their domains (OpRegistry::NameInOnnx).
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_OWN_OP_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_OWN_OP_H_

#include "absl/status/status.h"

namespace weft {
struct OnnxName;
}  // namespace weft

namespace weft::onnx_export {

class NodeExport;

// Operands and results in order, and all attributes that are present, so that ImportOwnOp reads
// the node back. Operators of other domains have no type checks and get no casts.
absl::Status ExportOwnOp(NodeExport& e, const OnnxName& name);

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_OWN_OP_H_
