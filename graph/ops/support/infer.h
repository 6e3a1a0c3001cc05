// Shape and dtype rules that the Verify and Infer of ops share.
//
// Messages do not name the op: InferTypes prepends its name.
#ifndef WEFT_GRAPH_OPS_SUPPORT_INFER_H_
#define WEFT_GRAPH_OPS_SUPPORT_INFER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "graph/tensor/type.h"

namespace weft {
class Attrs;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// InvalidArgument with the concatenated pieces.
template <typename... Pieces>
absl::Status Invalid(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

// --- Dims ---------------------------------------------------------------

// The dim counted from the front. Errors are "dim 5 is out of range for rank 2 (expected -2 to 1)".
// A scalar has no dims: every dim is an error.
absl::StatusOr<int> NormalizeDim(int64_t dim, int rank);
// The dims in the given order; a dim that appears twice is an error.
absl::StatusOr<std::vector<int>> NormalizeDims(absl::Span<const int64_t> dims, int rank);
// The dims of a reduction, ascending; an empty list means all. As in ATen, a scalar accepts the
// dims 0 and -1.
absl::StatusOr<std::vector<int>> ReducedAxes(absl::Span<const int64_t> dims, int rank);
std::vector<SymInt> DimsAfterReduction(absl::Span<const SymInt> dims, absl::Span<const int> axes,
                                       bool keepdim);
// The dims after NumPy broadcasting of all types except absent ones, left to right. Errors are
// "f32[2, 3] and f32[4] do not broadcast".
absl::StatusOr<std::vector<SymInt>> BroadcastDims(const OpArgs& args, absl::Span<const Type> types);
// Size of a convolution's or a pooling's output in one dim:
//   floor((in + pad_before + pad_after - dilation*(kernel - 1) - 1) / stride) + 1
// With `ceil_mode` the division rounds up, but the last window starts inside
// the input or the padding before it (as in ATen).
SymInt WindowedSize(SymInt in, SymInt kernel, SymInt stride, SymInt dilation, SymInt pad_before,
                    SymInt pad_after, bool ceil_mode = false);

// --- Checks of operands ---------------------------------------------------
// Operands are named as in the schema: "self must have rank 2, got f32[3]".
// Checks of an absent optional operand succeed.

std::string OperandName(const OpArgs& args, int i);
absl::Status CheckRank(const OpArgs& args, int i, int rank);
absl::Status CheckRankAtLeast(const OpArgs& args, int i, int rank);
absl::Status CheckFloat(const OpArgs& args, int i);
absl::Status CheckInt(const OpArgs& args, int i);
absl::Status CheckIntOrBool(const OpArgs& args, int i);
absl::Status CheckBool(const OpArgs& args, int i);
// Accepts integers and floats.
absl::Status CheckNumeric(const OpArgs& args, int i);
// Accepts every dtype except complex.
absl::Status CheckReal(const OpArgs& args, int i);
absl::Status CheckDType(const OpArgs& args, int i, DType dtype);
// Accepts i32 and i64, ATen's index dtypes.
absl::Status CheckIndex(const OpArgs& args, int i);
// Errors are "operands have different dtypes: f32 and i64". The first form compares all tensor
// operands.
absl::Status CheckSameDType(const OpArgs& args);
absl::Status CheckSameDType(const OpArgs& args, int i, int j);
// False if a == b provably cannot hold; an unknown condition becomes an assumption of the op
// (OpArgs::needs).
bool MayBeEqual(const OpArgs& args, SymInt a, SymInt b);
// The same for a == 1 or a == size.
bool MayBroadcastTo(const OpArgs& args, SymInt a, SymInt size);
// An error if a == b provably cannot hold: "<what>: 3 and 4 differ".
absl::Status CheckEqualSizes(const OpArgs& args, SymInt a, SymInt b, absl::string_view what);

// --- Ready-made Infer functions -------------------------------------------

// The type of operand 0, without a check.
absl::StatusOr<Types> InferSame(const OpArgs& args);
// The type of operand 0, which is ...
absl::StatusOr<Types> InferUnary(const OpArgs& args);         // Not complex.
absl::StatusOr<Types> InferUnaryNumeric(const OpArgs& args);  // Int or float.
absl::StatusOr<Types> InferUnaryFloat(const OpArgs& args);
absl::StatusOr<Types> InferUnaryIntOrBool(const OpArgs& args);
// bool with operand 0's dims; operand 0 must not be complex.
absl::StatusOr<Types> InferPredicate(const OpArgs& args);
// All tensor operands must have one dtype, and broadcast. They must be ...
absl::StatusOr<Types> InferBinary(const OpArgs& args);  // Not complex.
absl::StatusOr<Types> InferBinaryNumeric(const OpArgs& args);
absl::StatusOr<Types> InferBinaryFloat(const OpArgs& args);
absl::StatusOr<Types> InferBinaryIntOrBool(const OpArgs& args);
absl::StatusOr<Types> InferBinaryInt(const OpArgs& args);
// The same (not complex), with a bool result.
absl::StatusOr<Types> InferCompare(const OpArgs& args);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_INFER_H_
