// Rectifiers.
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Eval(EvalContext& c) {
  // NaN stays NaN.
  return EvalUnary(c, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

// relu(relu(x)) = relu(x).
Folded Fold(const OpArgs& args) {
  if (args.operand(0)->IsResultOf(*args.op)) return args.operand(0);
  return {};
}

}  // namespace

WEFT_DEFINE_OP(relu, OpSpec("relu(Tensor self) -> Tensor",
                            "max(self, 0); NaN stays NaN. ATen: aten::relu.")
                         .Traits(kPointwise)
                         .Infer(InferUnaryNumeric)
                         .Fold(Fold)
                         .Eval(Eval)
                         .Samples(R"(
relu(f32[2, 3]{-2..2})
relu(bf16[5]{-1..1})
relu(i32[4]{-3, 0, 2, 7})
relu(bool[2]) ! "integer or float"
)"));

}  // namespace weft::ops
