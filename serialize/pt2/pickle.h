// Reads the pickles that torch.save writes for dicts of tensors, and only those.
//
// A pickle is a program for a stack machine that may call any Python function. This reader supports
// the opcodes of protocol 2 and the few names that PyTorch's tensors use (storages,
// torch._utils._rebuild_*, OrderedDict). It interprets calls of these and runs nothing; any other
// name or opcode is an error.
//
// Bytes are untrusted. Values are kept in a list and refer to each other by index, so that neither
// nesting nor cycles are a problem; each byte makes at most one value. Errors name the byte.
#ifndef WEFT_SERIALIZE_PT2_PICKLE_H_
#define WEFT_SERIALIZE_PT2_PICKLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/dtype.h"

namespace weft::pt2 {

// A view of a storage; its range is not checked.
struct PickledTensor {
  std::string storage;  // Key of its storage: entry data/<key> of the archive.
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// The entries of a dict with string keys, in order.
absl::StatusOr<std::vector<std::pair<std::string, PickledTensor>>> ReadPickledTensors(
    absl::string_view bytes, const std::string& file);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PICKLE_H_
