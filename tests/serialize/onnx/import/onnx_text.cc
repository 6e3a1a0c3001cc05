#include "tests/serialize/onnx/import/onnx_text.h"

#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/ir/module.h"
#include "graph/text/text.h"
#include "onnx/defs/parser.h"

namespace weft {

::onnx::ModelProto ParseOnnxText(const std::string& text, int opset) {
  std::string full(absl::StripLeadingAsciiWhitespace(text));
  if (!absl::StartsWith(full, "<")) {
    full = absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", full);
  }
  ::onnx::ModelProto model;
  const auto status = ::onnx::OnnxParser::Parse(model, full.c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  return model;
}

std::string ImportToText(const ::onnx::ModelProto& model, const OnnxImportOptions& options) {
  auto module = ImportOnnxBytes(model.SerializeAsString(), "", options);
  if (!module.ok()) return module.status().ToString();
  PrintOptions print;
  print.locations = false;
  return PrintModule(**module, print);
}

std::string ImportToText(const std::string& text, int opset, const OnnxImportOptions& options) {
  return ImportToText(ParseOnnxText(text, opset), options);
}

}  // namespace weft
