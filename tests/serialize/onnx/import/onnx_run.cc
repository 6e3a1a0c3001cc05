#include "tests/serialize/onnx/import/onnx_run.h"

#include <utility>

#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {

HostTensor F32(std::vector<int64_t> dims, std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

HostTensor U8(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return HostTensor::FromInts(DType::kU8, dims, values);
}

HostTensor I32(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return HostTensor::FromInts(DType::kI32, dims, values);
}

HostTensor I64(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return HostTensor::FromInts(DType::kI64, dims, values);
}

HostTensor Counting(std::vector<int64_t> dims) {
  HostTensor t(DType::kF32, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  t.WriteDoubles(values);
  return t;
}

std::string Fill(std::string text, const std::string& word) {
  return text.replace(text.find('%'), 1, word);
}

std::vector<HostTensor> RunOnnx(const std::string& text, int opset,
                                const std::vector<HostTensor>& inputs) {
  auto module = ImportOnnxBytes(ParseOnnxText(text, opset).SerializeAsString(),
                                /*base_dir=*/"");
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return {};
  auto outputs = reference::Run(*(*module)->main(), inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  return *std::move(outputs);
}

std::vector<double> RunOnnxValues(const std::string& text, int opset,
                                  const std::vector<HostTensor>& inputs) {
  const std::vector<HostTensor> outputs = RunOnnx(text, opset, inputs);
  if (outputs.empty()) return {};
  return outputs[0].ReadDoubles();
}

}  // namespace weft
