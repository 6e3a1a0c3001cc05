// The pickles that torch.save writes for dicts of tensors, and no others.
//
// A pickle is a program for a stack machine that may call any function of Python.
// This reader knows the opcodes of protocol 2 and the few names that PyTorch's
// tensors need (storages, torch._utils._rebuild_*, OrderedDict); calls of these
// are understood, nothing is run, and any other name or opcode is an error.
//
// Bytes are untrusted. Values are kept in a list and refer to each other by their
// places in it, so that neither nesting nor cycles matter; each byte makes at most
// one value. Errors say at which byte they are.
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

// A view of a storage; not checked against its size.
struct PickledTensor {
  std::string storage;  // Its key: entry data/<key> of the archive.
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// The entries of a dict with names as keys, in its order.
absl::StatusOr<std::vector<std::pair<std::string, PickledTensor>>> ReadPickledTensors(
    absl::string_view bytes, const std::string& file);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PICKLE_H_
