// The angle of a point.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Eval(EvalContext& c) {
  return EvalBinaryFloat(c, [](double y, double x) { return std::atan2(y, x); });
}

}  // namespace

WEFT_DEFINE_OP(atan2, OpSpec("atan2(Tensor self, Tensor other) -> Tensor",
                             "Angle of the point (other, self), from -pi to pi. "
                             "ATen: aten::atan2.")
                          .Traits(kPointwise)
                          .Infer(InferBinaryFloat)
                          .Eval(Eval)
                          .Flops(PerResult{1, 1})
                          .Samples(R"(
atan2(f32[2, 3], f32[3])
atan2(f16[4], f16[4])
atan2(i32[2], i32[2]) ! "float"
)"));

}  // namespace weft::ops
