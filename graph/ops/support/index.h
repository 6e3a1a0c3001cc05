// Indices in tensors.
#ifndef WEFT_GRAPH_OPS_SUPPORT_INDEX_H_
#define WEFT_GRAPH_OPS_SUPPORT_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ops/support/infer.h"
#include "graph/tensor/tensor.h"

namespace weft::ops {

// `i`, counted from the end if it is negative. Errors are "index 7 is out of range for size 3".
inline absl::StatusOr<int64_t> WrapIndex(int64_t i, int64_t size) {
  if (i >= -size && i < size) return i < 0 ? i + size : i;
  return absl::OutOfRangeError(absl::StrCat("index ", i, " is out of range for size ", size));
}

// All elements of `index`, each by WrapIndex.
inline absl::StatusOr<std::vector<int64_t>> ReadIndices(const HostTensor& index, int64_t size) {
  std::vector<int64_t> values = index.ReadInts();
  for (int64_t& i : values) {
    WEFT_ASSIGN_OR_RETURN(i, WrapIndex(i, size));
  }
  return values;
}

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_INDEX_H_
