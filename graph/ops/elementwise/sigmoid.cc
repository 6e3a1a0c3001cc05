// The error function and the logistic function.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

constexpr OpSpec FloatFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferUnaryFloat);
}

absl::Status EvalErf(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::erf(x); });
}

absl::Status EvalSigmoid(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return 1 / (1 + std::exp(-x)); });
}

}  // namespace

WEFT_DEFINE_OP(erf, FloatFunction("erf(Tensor self) -> Tensor", "Error function. ATen: aten::erf.")
                        .Eval(EvalErf)
                        .Samples(R"(
erf(f32[2, 3])
erf(bf16[5])
erf(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(sigmoid, FloatFunction("sigmoid(Tensor self) -> Tensor",
                                      "1 / (1 + exp(-self)). ATen: aten::sigmoid.")
                            .Eval(EvalSigmoid)
                            .Flops(PerResult{4, 2})
                            .Samples(R"(
sigmoid(f32[2, 3])
sigmoid(bf16[5])
sigmoid(i32[2]) ! "float"
)"));

}  // namespace weft::ops
