// Models for tests, written in ONNX's textual syntax (docs/Syntax.md there).
#ifndef WEFT_TESTS_SERIALIZE_ONNX_IMPORT_ONNX_TEXT_H_
#define WEFT_TESTS_SERIALIZE_ONNX_IMPORT_ONNX_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/import/onnx.h"

namespace weft {

// Throws on a syntax error. Without a header the model has IR version 8 and
// the given opset.
::onnx::ModelProto ParseOnnxText(const std::string& text, int opset = 17);

// Imports, and prints the module without locations; or the status, as text.
std::string ImportToText(const ::onnx::ModelProto& model, const OnnxImportOptions& options = {});
std::string ImportToText(const std::string& text, int opset = 17,
                         const OnnxImportOptions& options = {});

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_ONNX_IMPORT_ONNX_TEXT_H_
