// GGUF, llama.cpp's files of weights: metadata and tensors, without a graph.
//
// A file begins with the magic "GGUF", a version, and the numbers of tensors and of metadata; then
// come key and value pairs, the name, dims, type and offset of each tensor, and, at a multiple of
// `general.alignment`, the data. Numbers are little-endian. Versions 2 and 3 are read.
//
// Dims in the file begin with the innermost one; here they are in the order of HostTensor.
#ifndef WEFT_SERIALIZE_GGUF_GGUF_H_
#define WEFT_SERIALIZE_GGUF_GGUF_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/host_buffer.h"
#include "graph/tensor/tensor.h"

namespace weft {

struct GgufTensor {
  std::string name;
  std::vector<int64_t> dims;
  // ggml's number of the type, and its name ("Q4_0"); "type 99" for one that is not known.
  uint32_t type = 0;
  std::string type_name;
  int64_t offset = 0;  // In the buffer.
  int64_t bytes = 0;   // -1: of a type that is not read.
};

struct GgufFile {
  std::shared_ptr<HostBuffer> data;
  uint32_t version = 0;
  // Values as text; of arrays the number of elements.
  std::map<std::string, std::string> metadata;
  // In the order of the file.
  std::vector<GgufTensor> tensors;
};

// Errors name the place in the bytes. Tensors of types that are not read are listed.
absl::StatusOr<GgufFile> ParseGguf(std::shared_ptr<HostBuffer> data);
// Maps the file.
absl::StatusOr<GgufFile> ReadGguf(const std::string& path);

// Elements of a tensor: floats of the file, or numbers with a scale for each `block` of them along
// the last dim.
struct GgufWeight {
  HostTensor values;
  HostTensor scales;  // Invalid for floats.
  int64_t block = 0;
};

// F32, F16, BF16, F64, Q8_0 (i8 with scales of f16), Q4_0 (i4 with scales of f16) and MXFP4 (f4e2m1
// with scales of f8e8m0). Floats are views of the file where its alignment allows.
absl::StatusOr<GgufWeight> LoadGguf(const GgufFile& file, const GgufTensor& tensor);

}  // namespace weft

#endif  // WEFT_SERIALIZE_GGUF_GGUF_H_
