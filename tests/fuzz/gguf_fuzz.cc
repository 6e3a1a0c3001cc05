// Any bytes as a GGUF file: metadata and tensors or a status, never a crash. Every tensor of a type
// that is read loads, within the bytes of the file.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/host_buffer.h"
#include "serialize/gguf/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto buffer = weft::HostBuffer::Allocate(static_cast<int64_t>(size));
  if (size > 0) std::memcpy(buffer->data(), data, size);
  const auto file = weft::ParseGguf(std::move(buffer));
  if (!file.ok()) return 0;
  for (const weft::GgufTensor& tensor : file->tensors) {
    const auto weight = weft::LoadGguf(*file, tensor);
    WEFT_CHECK(weight.ok() == (tensor.bytes >= 0)) << weight.status().ToString();
    if (!weight.ok()) continue;
    WEFT_CHECK(weight->values.dims() == tensor.dims);
    weight->values.Fingerprint();
    weight->scales.Fingerprint();
    weight->offsets.Fingerprint();
  }
  return 0;
}
