// Powers.
#include <cmath>

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

template <typename T>
T PowerOfInt(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return exponent % 2 != 0 ? base : 1;
    return 0;
  }
  T power = 1;
  for (uint64_t e = exponent; e != 0; e >>= 1) {
    if (e & 1) power = WrapMul(power, base);
    base = WrapMul(base, base);
  }
  return power;
}

absl::Status Eval(EvalContext& c) {
  return EvalBinary(c, [](auto base, auto exponent) {
    if constexpr (std::is_same_v<decltype(base), double>) {
      return std::pow(base, exponent);
    } else {
      return PowerOfInt(base, exponent);
    }
  });
}

// x ** 1 = x.
Folded Fold(const OpArgs& args) {
  if (IsSplatOf(args.operand(1), 1.0)) return FoldTo(args, 0);
  return {};
}

}  // namespace

WEFT_DEFINE_OP(pow, OpSpec("pow(Tensor self, Tensor exponent) -> Tensor",
                           "self ** exponent. Integers wrap; their negative powers "
                           "are 0, but of 1 and -1. ATen: aten::pow.Tensor_Tensor.")
                        .Traits(kPointwise)
                        .Infer(InferBinaryNumeric)
                        .Fold(Fold)
                        .Eval(Eval)
                        .Flops(PerResult{1, 1})
                        .Samples(R"(
pow(f32[2, 3]{0.1..3}, f32[3])
pow(f64[4]{-2, -2, 0, 4}, f64[4]{3, 0.5, 0, -0.5})
pow(i32[5]{-1, -2, 1, 3, 7}, i32[5]{-3, -1, -5, 4, 40})
pow(bool[2], bool[2]) ! "integer or float"
)"));

}  // namespace weft::ops
