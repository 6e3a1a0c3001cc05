// Bytes of GGUF files for tests.
#ifndef WEFT_TESTS_SERIALIZE_GGUF_GGUF_BYTES_H_
#define WEFT_TESTS_SERIALIZE_GGUF_GGUF_BYTES_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/host_buffer.h"

namespace weft {

class GgufBytes {
 public:
  // Dims as HostTensor has them.
  struct Tensor {
    std::string name;
    std::vector<int64_t> dims;
    uint32_t type = 0;
    std::string data;
  };

  uint32_t magic = 0x46554747;
  uint32_t version = 3;
  std::vector<Tensor> tensors;
  // Pairs in the file's form (Pair).
  std::vector<std::string> pairs;

  template <typename T>
  static std::string Number(T v) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &v, sizeof(T));
    return bytes;
  }
  static std::string Text(const std::string& text) { return Number<uint64_t>(text.size()) + text; }
  static std::string Pair(const std::string& key, uint32_t type, const std::string& value) {
    return Text(key) + Number(type) + value;
  }

  std::string Bytes() const {
    std::string bytes = Number(magic) + Number(version) + Number<uint64_t>(tensors.size()) +
                        Number<uint64_t>(pairs.size());
    for (const std::string& pair : pairs) bytes += pair;
    std::string data;
    for (const Tensor& tensor : tensors) {
      bytes += Text(tensor.name) + Number<uint32_t>(tensor.dims.size());
      for (auto d = tensor.dims.rbegin(); d != tensor.dims.rend(); ++d) bytes += Number(*d);
      bytes += Number(tensor.type) + Number<uint64_t>(data.size());
      data += tensor.data;
      data.resize((data.size() + 31) / 32 * 32);
    }
    bytes.resize((bytes.size() + 31) / 32 * 32);
    return bytes + data;
  }

  static std::shared_ptr<HostBuffer> Buffer(const std::string& bytes) {
    auto buffer = HostBuffer::Allocate(static_cast<int64_t>(bytes.size()));
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
    return buffer;
  }
};

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_GGUF_GGUF_BYTES_H_
