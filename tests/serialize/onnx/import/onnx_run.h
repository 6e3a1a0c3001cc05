// Models in ONNX's textual syntax, imported and run by the reference executor.
#ifndef WEFT_TESTS_SERIALIZE_ONNX_IMPORT_ONNX_RUN_H_
#define WEFT_TESTS_SERIALIZE_ONNX_IMPORT_ONNX_RUN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace weft {

class HostTensor;

HostTensor F32(std::vector<int64_t> dims, std::vector<double> values);
HostTensor U8(std::vector<int64_t> dims, std::vector<int64_t> values);
HostTensor I32(std::vector<int64_t> dims, std::vector<int64_t> values);
HostTensor I64(std::vector<int64_t> dims, std::vector<int64_t> values);
// f32: 0, 1, 2, ...
HostTensor Counting(std::vector<int64_t> dims);

// `text` with `word` in the place of the first '%'.
std::string Fill(std::string text, const std::string& word);

// Matches elements that these are, but for rounding.
inline auto Near(std::vector<double> values) {
  return testing::Pointwise(testing::DoubleNear(1e-6), std::move(values));
}

// All results; none, and a failed expectation, when anything went wrong.
std::vector<HostTensor> RunOnnx(const std::string& text, int opset,
                                const std::vector<HostTensor>& inputs);
// The elements of the first result.
std::vector<double> RunOnnxValues(const std::string& text, int opset,
                                  const std::vector<HostTensor>& inputs);

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_ONNX_IMPORT_ONNX_RUN_H_
