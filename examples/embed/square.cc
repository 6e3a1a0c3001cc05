// A user-defined op: its schema, shape function and evaluation.
#include "square.h"

#include "weft/graph/ops/support/op.h"

namespace embed {
namespace {

absl::Status Eval(weft::EvalContext& c) {
  return weft::ops::EvalUnaryFloat(c, [](double x) { return x * x; });
}

}  // namespace

WEFT_DEFINE_OP(square, weft::OpSpec("square(Tensor self) -> Tensor", "self * self, of floats.")
                           .Traits(weft::kPointwise)
                           .Infer(weft::ops::InferUnaryFloat)
                           .Eval(Eval));

}  // namespace embed
