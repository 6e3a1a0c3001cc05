// Writes elements at indices, optionally combined with the old ones.
#ifndef WEFT_GRAPH_OPS_SUPPORT_UPDATE_H_
#define WEFT_GRAPH_OPS_SUPPORT_UPDATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace weft {
class HostTensor;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Checks that the attribute `reduce` is none, add, mul, max or min, and that the dtype of operand 0
// supports it.
absl::Status CheckReduce(const OpArgs& args);

// out is self with src[i] stored at target[i] or combined with the element there, in order: none
// (the last one wins), add, mul, max, min. Elements are combined in the wide domain and rounded
// once; NaN wins max and min; on bool, add is or and mul is and.
absl::Status Update(const HostTensor& self, const HostTensor& src,
                    const std::vector<int64_t>& target, const std::string& reduce, HostTensor* out);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_UPDATE_H_
