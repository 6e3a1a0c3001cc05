// Hyperbolic functions.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

constexpr OpSpec FloatFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferUnaryFloat);
}

absl::Status EvalSinh(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::sinh(x); });
}

absl::Status EvalCosh(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::cosh(x); });
}

absl::Status EvalTanh(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::tanh(x); });
}

absl::Status EvalAsinh(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::asinh(x); });
}

absl::Status EvalAcosh(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::acosh(x); });
}

absl::Status EvalAtanh(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::atanh(x); });
}

}  // namespace

WEFT_DEFINE_OP(
    sinh,
    FloatFunction("sinh(Tensor self) -> Tensor", "ATen: aten::sinh.").Eval(EvalSinh).Samples(R"(
sinh(f32[2, 3])
sinh(bf16[5])
sinh(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    cosh,
    FloatFunction("cosh(Tensor self) -> Tensor", "ATen: aten::cosh.").Eval(EvalCosh).Samples(R"(
cosh(f32[2, 3])
cosh(bf16[5])
cosh(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    tanh,
    FloatFunction("tanh(Tensor self) -> Tensor", "ATen: aten::tanh.").Eval(EvalTanh).Samples(R"(
tanh(f32[2, 3])
tanh(bf16[5])
tanh(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    asinh,
    FloatFunction("asinh(Tensor self) -> Tensor", "ATen: aten::asinh.").Eval(EvalAsinh).Samples(R"(
asinh(f32[2, 3])
asinh(bf16[5])
asinh(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    acosh,
    FloatFunction("acosh(Tensor self) -> Tensor", "ATen: aten::acosh.").Eval(EvalAcosh).Samples(R"(
acosh(f32[2, 3]{1..4})
acosh(bf16[5]{1..4})
acosh(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    atanh,
    FloatFunction("atanh(Tensor self) -> Tensor", "ATen: aten::atanh.").Eval(EvalAtanh).Samples(R"(
atanh(f32[2, 3]{-0.9..0.9})
atanh(bf16[5]{-0.9..0.9})
atanh(i32[2]) ! "float"
)"));

}  // namespace weft::ops
