// The blocks in which GGUF's quantized tensors lie: numbers of a few bits with scales, as the types
// of ggml have them.
#ifndef WEFT_SERIALIZE_GGUF_GGUF_BLOCKS_H_
#define WEFT_SERIALIZE_GGUF_GGUF_BLOCKS_H_

#include <cstdint>

#include "graph/tensor/dtype.h"

namespace weft {

// The elements of one block, and the scales of its groups.
struct GgufBlock {
  static constexpr int kMaxElements = 256;
  static constexpr int kMaxGroups = 16;
  // In the dtype of the format; numbers with a sign as a byte.
  uint8_t codes[kMaxElements];
  float scales[kMaxGroups];
  float offsets[kMaxGroups];
};

struct GgufBlockFormat {
  uint32_t type;     // ggml's number.
  int64_t elements;  // Of a block.
  int64_t group;     // Elements that share a scale.
  int64_t bytes;     // Of a block.
  DType values;
  DType scales;
  // Elements are number * scale + offset, else number * scale.
  bool has_offsets;
  void (*read)(const uint8_t* from, GgufBlock* to);
};

// Null for types of floats and integers and for those that are not read.
const GgufBlockFormat* FindGgufBlockFormat(uint32_t type);

}  // namespace weft

#endif  // WEFT_SERIALIZE_GGUF_GGUF_BLOCKS_H_
