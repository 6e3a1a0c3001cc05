// Shared by the ops that normalize over the last dims: native_layer_norm and rms_norm.
#ifndef WEFT_GRAPH_OPS_NN_NORM_H_
#define WEFT_GRAPH_OPS_NN_NORM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace weft {
class EvalContext;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Checks that operands are floats of one dtype, and that `normalized_shape` equals the last dims of
// operand 0 and the dims of operands 1 and 2 if present.
absl::Status VerifyLastDims(const OpArgs& args);

// The normalized dims: the last `count` of `rank`.
std::vector<int64_t> LastDims(int rank, size_t count);

// Elements of an optional operand as doubles; `fill` if it is absent.
std::vector<double> ReadOr(const EvalContext& c, int i, int64_t size, double fill);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_NN_NORM_H_
