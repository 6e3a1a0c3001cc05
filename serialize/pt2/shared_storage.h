// Parameters and buffers that are views of the same memory.
//
// If none of them is written, each is independent. If one is written, those that may share elements
// become views of one of them, the root, which has all of the elements: a write to one is then a
// write to the root.
#ifndef WEFT_SERIALIZE_PT2_SHARED_STORAGE_H_
#define WEFT_SERIALIZE_PT2_SHARED_STORAGE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace weft {
class HostTensor;
}  // namespace weft

namespace weft::pt2 {

struct SharedView {
  std::string root;
  bool whole = false;  // The root itself, or with its sizes, strides and offset.
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  int64_t offset = 0;  // Offset in elements of the root.
};

// Finds those of `tensors` (by name, over one storage) that overlap a written one. The root is the
// first one, by name, that is contiguous and covers all others; if there is none, the program is
// Unimplemented.
absl::Status FindSharedViews(const std::map<std::string, HostTensor>& tensors,
                             const std::set<std::string>& written,
                             std::map<std::string, SharedView>* views);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_SHARED_STORAGE_H_
