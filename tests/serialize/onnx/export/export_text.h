// Exported models, for tests that look at them.
#ifndef WEFT_TESTS_SERIALIZE_ONNX_EXPORT_EXPORT_TEXT_H_
#define WEFT_TESTS_SERIALIZE_ONNX_EXPORT_EXPORT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace weft {

class Module;

// The model; a failed expectation when it cannot be made, or ONNX has a complaint.
onnx::ModelProto Export(const Module& module, int opset = 17);
onnx::ModelProto Export(const std::string& text, int opset = 17);
// Why it cannot be exported.
std::string Error(const std::string& text, int opset = 17);
// "Relu Cast".
std::string Operators(const onnx::GraphProto& graph);
// Null when there is none.
const onnx::TensorProto* Initializer(const onnx::ModelProto& model, const std::string& name);
// Its elements.
std::vector<int64_t> Int64s(const onnx::ModelProto& model, const std::string& name);

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_ONNX_EXPORT_EXPORT_TEXT_H_
