// Rounding to integers. On integer dtypes these are the identity.
#include <cmath>

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

template <double (*f)(double)>
absl::Status EvalRounding(EvalContext& c) {
  return EvalUnary(c, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) {
      return f(x);
    } else {
      return x;
    }
  });
}

double Ceil(double x) { return std::ceil(x); }
double Floor(double x) { return std::floor(x); }
double Trunc(double x) { return std::trunc(x); }
double Round(double x) {
  // Half to even, whatever the rounding mode of the process.
  const double below = std::floor(x);
  const double rest = x - below;
  double r = below;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0)) r = below + 1;
  return std::copysign(std::isfinite(x) ? r : x, x);
}

constexpr OpSpec Rounding(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Infer(InferUnaryNumeric).Fold(FoldIntegral);
}

}  // namespace

WEFT_DEFINE_OP(ceil, Rounding("ceil(Tensor self) -> Tensor", "Rounds up. ATen: aten::ceil.")
                         .Eval(EvalRounding<Ceil>)
                         .Samples(R"(
ceil(f32[2, 3])
ceil(i32[3])
ceil(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(floor, Rounding("floor(Tensor self) -> Tensor", "Rounds down. ATen: aten::floor.")
                          .Eval(EvalRounding<Floor>)
                          .Samples(R"(
floor(f32[2, 3])
floor(i32[3])
floor(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(round, Rounding("round(Tensor self) -> Tensor",
                               "Rounds to nearest, half to even. ATen: "
                               "aten::round.")
                          .Eval(EvalRounding<Round>)
                          .Samples(R"(
round(f32[8]{-1.5, -0.5, 0.5, 1.5, 2.5, 2.4, 2.6, -0.2})
round(i32[3])
round(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(trunc,
               Rounding("trunc(Tensor self) -> Tensor", "Rounds toward zero. ATen: aten::trunc.")
                   .Eval(EvalRounding<Trunc>)
                   .Samples(R"(
trunc(f32[2, 3])
trunc(i32[3])
trunc(bool[2]) ! "integer or float"
)"));

}  // namespace weft::ops
