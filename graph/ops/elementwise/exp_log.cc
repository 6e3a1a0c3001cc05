// Exponentials and logarithms.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

constexpr OpSpec FloatFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferUnaryFloat);
}

absl::Status EvalExp(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::exp(x); });
}

absl::Status EvalExpm1(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::expm1(x); });
}

absl::Status EvalLog(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::log(x); });
}

absl::Status EvalLog1p(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::log1p(x); });
}

absl::Status EvalLog2(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::log2(x); });
}

}  // namespace

WEFT_DEFINE_OP(
    exp, FloatFunction("exp(Tensor self) -> Tensor", "ATen: aten::exp.").Eval(EvalExp).Samples(R"(
exp(f32[2, 3])
exp(bf16[5])
exp(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(expm1, FloatFunction("expm1(Tensor self) -> Tensor",
                                    "exp(self) - 1, precise near 0. ATen: aten::expm1.")
                          .Eval(EvalExpm1)
                          .Samples(R"(
expm1(f32[2, 3])
expm1(bf16[5])
expm1(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(log, FloatFunction("log(Tensor self) -> Tensor",
                                  "Natural logarithm; NaN below 0. ATen: aten::log.")
                        .Eval(EvalLog)
                        .Samples(R"(
log(f32[2, 3]{0.1..5})
log(bf16[5]{0.1..5})
log(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(log1p, FloatFunction("log1p(Tensor self) -> Tensor",
                                    "log(self + 1), precise near 0. ATen: aten::log1p.")
                          .Eval(EvalLog1p)
                          .Samples(R"(
log1p(f32[2, 3]{-0.5..5})
log1p(bf16[5]{-0.5..5})
log1p(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    log2,
    FloatFunction("log2(Tensor self) -> Tensor", "ATen: aten::log2.").Eval(EvalLog2).Samples(R"(
log2(f32[2, 3]{0.1..5})
log2(bf16[5]{0.1..5})
log2(i32[2]) ! "float"
)"));

}  // namespace weft::ops
