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
// the last dim, times which they are taken, and an offset or none, which is added.
struct GgufWeight {
  HostTensor values;
  HostTensor scales;   // Invalid for floats.
  HostTensor offsets;  // Of the dims of the scales; invalid: none.
  int64_t block = 0;
};

// F32, F16, BF16, F64, integers, and the formats of gguf_blocks.h: Q4_0, Q5_0 and Q8_0 (scales of
// f16), MXFP4 (f4e2m1 with scales of f8e8m0), Q4_1, Q5_1 and Q2_K to Q6_K (scales and, but for Q3_K
// and Q6_K, offsets of f32, as whose products the files have them). Floats are views of the file
// where its alignment allows.
absl::StatusOr<GgufWeight> LoadGguf(const GgufFile& file, const GgufTensor& tensor);

}  // namespace weft

#endif  // WEFT_SERIALIZE_GGUF_GGUF_H_
