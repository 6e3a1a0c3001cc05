// Writing elements at indices, with a choice of what happens to those there.
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

// The attribute `reduce` is none, add, mul, max or min, and the dtype of
// operand 0 can be reduced.
absl::Status CheckReduce(const OpArgs& args);

// out is self with src[i] put at target[i] or combined with what is there, in
// order: none (the last one wins), add, mul, max, min. Combined in the wide
// domain and rounded once; NaN wins max and min; on bool, add is or and mul is
// and.
absl::Status Update(const HostTensor& self, const HostTensor& src,
                    const std::vector<int64_t>& target, const std::string& reduce, HostTensor* out);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_UPDATE_H_
