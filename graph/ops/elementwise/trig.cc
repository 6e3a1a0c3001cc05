// Trigonometric functions.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

constexpr OpSpec FloatFunction(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Flops(PerResult{1, 1}).Infer(InferUnaryFloat);
}

absl::Status EvalSin(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::sin(x); });
}

absl::Status EvalCos(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::cos(x); });
}

absl::Status EvalTan(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::tan(x); });
}

absl::Status EvalAsin(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::asin(x); });
}

absl::Status EvalAcos(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::acos(x); });
}

absl::Status EvalAtan(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return std::atan(x); });
}

}  // namespace

WEFT_DEFINE_OP(
    sin, FloatFunction("sin(Tensor self) -> Tensor", "ATen: aten::sin.").Eval(EvalSin).Samples(R"(
sin(f32[2, 3])
sin(bf16[5])
sin(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    cos, FloatFunction("cos(Tensor self) -> Tensor", "ATen: aten::cos.").Eval(EvalCos).Samples(R"(
cos(f32[2, 3])
cos(bf16[5])
cos(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    tan, FloatFunction("tan(Tensor self) -> Tensor", "ATen: aten::tan.").Eval(EvalTan).Samples(R"(
tan(f32[2, 3]{-1..1})
tan(bf16[5]{-1..1})
tan(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    asin,
    FloatFunction("asin(Tensor self) -> Tensor", "ATen: aten::asin.").Eval(EvalAsin).Samples(R"(
asin(f32[2, 3]{-1..1})
asin(bf16[5]{-1..1})
asin(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    acos,
    FloatFunction("acos(Tensor self) -> Tensor", "ATen: aten::acos.").Eval(EvalAcos).Samples(R"(
acos(f32[2, 3]{-1..1})
acos(bf16[5]{-1..1})
acos(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(
    atan,
    FloatFunction("atan(Tensor self) -> Tensor", "ATen: aten::atan.").Eval(EvalAtan).Samples(R"(
atan(f32[2, 3])
atan(bf16[5])
atan(i32[2]) ! "float"
)"));

}  // namespace weft::ops
