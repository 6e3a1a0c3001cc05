// Any bytes as a model: a module or a status, never a crash.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::OnnxImportOptions options;
  options.max_nodes = 1000;
  options.max_tensor_bytes = 1 << 20;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  weft::ImportOnnxBytes(bytes, "", options).status().IgnoreError();
  weft::ParseTensorProto(bytes).status().IgnoreError();
  return 0;
}
