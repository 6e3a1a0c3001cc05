// What ONNX's own library has to say about a model.
#ifndef WEFT_TESTS_SERIALIZE_ONNX_ONNX_CHECK_H_
#define WEFT_TESTS_SERIALIZE_ONNX_ONNX_CHECK_H_

#include <string>

namespace weft {

// Empty when the model passes the checker and strict shape inference with type
// checks; otherwise the complaint, with the model's nodes.
std::string OnnxComplaint(const std::string& bytes);

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_ONNX_ONNX_CHECK_H_
