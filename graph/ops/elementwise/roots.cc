// Roots and reciprocals.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

constexpr OpSpec FloatFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferUnaryFloat);
}

absl::Status EvalSqrt(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::sqrt(x); });
}

absl::Status EvalRsqrt(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return 1 / std::sqrt(x); });
}

absl::Status EvalReciprocal(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return 1 / x; });
}

}  // namespace

WEFT_DEFINE_OP(sqrt, FloatFunction("sqrt(Tensor self) -> Tensor", "NaN below 0. ATen: aten::sqrt.")
                         .Eval(EvalSqrt)
                         .Samples(R"(
sqrt(f32[2, 3]{0..5})
sqrt(bf16[5]{0..5})
sqrt(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(rsqrt,
               FloatFunction("rsqrt(Tensor self) -> Tensor", "1 / sqrt(self). ATen: aten::rsqrt.")
                   .Eval(EvalRsqrt)
                   .Samples(R"(
rsqrt(f32[2, 3]{0.1..5})
rsqrt(bf16[5]{0.1..5})
rsqrt(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(reciprocal, FloatFunction("reciprocal(Tensor self) -> Tensor",
                                         "1 / self. ATen: aten::reciprocal.")
                               .Eval(EvalReciprocal)
                               .Samples(R"(
reciprocal(f32[2, 3]{0.5..4})
reciprocal(bf16[5]{0.5..4})
reciprocal(i32[2]) ! "float"
)"));

}  // namespace weft::ops
