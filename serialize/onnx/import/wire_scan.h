// Finds the reason that protobuf refused a model, by reading the bytes without recursion.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_WIRE_SCAN_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_WIRE_SCAN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft::onnx_import {

// The InvalidArgument error for bytes that do not parse as a ModelProto: graphs nested more than
// `max_nesting` deep, or the first malformed position.
absl::Status ExplainParseFailure(absl::string_view bytes, int max_nesting);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_WIRE_SCAN_H_
