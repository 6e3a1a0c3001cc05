#include "tests/serialize/onnx/export/onnx_check.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/checker.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"

namespace weft {
namespace {

std::string Nodes(const onnx::ModelProto& model) {
  std::string text;
  for (const auto& node : model.graph().node()) {
    absl::StrAppend(&text, "\n  ", absl::StrJoin(node.output(), ", "), " = ", node.op_type(), "(",
                    absl::StrJoin(node.input(), ", "), ")");
  }
  return text;
}

}  // namespace

std::string OnnxComplaint(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return "not a ModelProto";
  try {
    onnx::checker::check_model(model);
    onnx::ModelProto inferred = model;
    const onnx::ShapeInferenceOptions options(
        /*check_type_val=*/true, /*strict_mode_val=*/1, /*data_prop_val=*/true);
    onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    return absl::StrCat(error.what(), Nodes(model));
  }
  return "";
}

}  // namespace weft
