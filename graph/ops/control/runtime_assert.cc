// Conditions on data that a program demands of itself.
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckBool(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 0));
  return Types{};
}

absl::Status Eval(EvalContext& c) {
  if (c.in(0).IntAt(0) != 0) return absl::OkStatus();
  return Invalid("assertion failed: ", c.attrs().Str("message"));
}

}  // namespace

// The op has no result, so passes keep it as they keep writes.
WEFT_DEFINE_OP(runtime_assert, OpSpec("runtime_assert(Tensor condition, str message) -> ()",
                                      "Ends the run with `message` when the condition, a bool "
                                      "scalar, is false. ATen: aten::_assert_async.msg, "
                                      "aten::_assert_scalar.")
                                   .Traits(kSideEffect)
                                   .Infer(Infer)
                                   .Eval(Eval)
                                   .Flops(PerResult{0})
                                   .Samples(R"(
runtime_assert(bool[]{1}, message="a size is positive")
runtime_assert(i64[], message="") ! "condition must have bool dtype"
runtime_assert(bool[1], message="") ! "condition must have rank 0"
)"));

}  // namespace weft::ops
