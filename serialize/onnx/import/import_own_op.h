// Operators of other domains that a program has ops for (OpRegistry::NameInOnnx).
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_OWN_OP_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_OWN_OP_H_

#include "absl/status/status.h"

namespace weft {
class OpDef;
}  // namespace weft

namespace weft::onnx_import {

class NodeContext;

// Inputs and outputs are the op's operands and results in order, attributes have the names and the
// types of its schema.
absl::Status ImportOwnOp(NodeContext& c, const OpDef& op);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_OWN_OP_H_
