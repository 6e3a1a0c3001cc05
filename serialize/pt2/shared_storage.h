// Parameters and buffers that are views of one memory.
//
// While nothing is written each may stand for itself. Where one is written, those
// whose elements may be the same become views of one of them, the root, which has
// all of them: a write to one is a write to the root then.
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
  bool whole = false;  // It is the root, or has its sizes, strides and place.
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  int64_t offset = 0;  // In elements of the root.
};

// Adds those of `tensors`, by name, over one storage that overlap one that is
// written. The root is the first one, by name, that is contiguous and reaches as
// far as the others; without one the program is Unimplemented.
absl::Status FindSharedViews(const std::map<std::string, HostTensor>& tensors,
                             const std::set<std::string>& written,
                             std::map<std::string, SharedView>* views);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_SHARED_STORAGE_H_
