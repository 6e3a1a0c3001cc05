// The windows of pooling ops over the spatial dims of [N, C, spatial...].
//
// These ops share the attributes kernel_size, stride, padding (all begins, then
// all ends), dilation and ceil_mode.
#ifndef WEFT_GRAPH_OPS_NN_POOLING_H_
#define WEFT_GRAPH_OPS_NN_POOLING_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/sym/sym_int.h"

namespace weft {
class Attrs;
class EvalContext;
class HostTensor;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Checks that there is one kernel_size, stride and dilation, at least 1, and two paddings for each
// of `n` dims.
absl::Status VerifyWindow(const Attrs& attrs, size_t n);
// Checks ranks and attributes; padding must be less than the window's extent.
absl::Status VerifyPooling(const OpArgs& args);
// Dims of the result.
absl::StatusOr<std::vector<SymInt>> PooledDims(const OpArgs& args);

// Elements of the window.
int64_t WindowSize(const Attrs& attrs);

// One position of the window.
struct Taps {
  // The elements inside the input, as indices into its plane, ascending.
  std::vector<int64_t> inside;
  // Number of elements inside of the input or its padding. Elements that ceil_mode adds after the
  // padding do not count.
  int64_t padded = 0;
};

// Calls `fn(out, taps)` for each position, on several threads; `out` is an index in the result's
// plane.
void ForEachWindow(EvalContext& c, absl::FunctionRef<void(int64_t out, const Taps& taps)> fn);

// Products of the dims from the third on, and of the first two.
int64_t PlaneSize(const HostTensor& t);
int64_t NumPlanes(const HostTensor& t);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_NN_POOLING_H_
