#include "tests/serialize/onnx/export/export_text.h"

#include "absl/strings/str_join.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/serialize/onnx/export/onnx_check.h"
#include "tests/support/parse.h"

namespace weft {

onnx::ModelProto Export(const Module& module, int opset) {
  OnnxExportOptions options;
  options.opset = opset;
  onnx::ModelProto model;
  const auto bytes = ExportOnnx(module, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return model;
  if (opset == 17) {
    EXPECT_EQ(OnnxComplaint(*bytes), "");
  }
  EXPECT_TRUE(model.ParseFromString(*bytes));
  return model;
}

onnx::ModelProto Export(const std::string& text, int opset) {
  const auto module = Parse(text);
  return module ? Export(*module, opset) : onnx::ModelProto();
}

std::string Error(const std::string& text, int opset) {
  const auto module = Parse(text);
  OnnxExportOptions options;
  options.opset = opset;
  const auto bytes = ExportOnnx(*module, options);
  EXPECT_FALSE(bytes.ok());
  return std::string(bytes.status().message());
}

std::string Operators(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.node()) names.push_back(node.op_type());
  return absl::StrJoin(names, " ");
}

const onnx::TensorProto* Initializer(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return &tensor;
  }
  return nullptr;
}

std::vector<int64_t> Int64s(const onnx::ModelProto& model, const std::string& name) {
  const onnx::TensorProto* tensor = Initializer(model, name);
  if (tensor == nullptr) return {-999};
  auto loaded = ParseTensorProto(tensor->SerializeAsString());
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? loaded->ReadInts() : std::vector<int64_t>();
}

}  // namespace weft
