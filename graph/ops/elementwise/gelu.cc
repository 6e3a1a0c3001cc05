// Gaussian error linear unit.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

absl::Status Verify(const OpArgs& args) {
  const std::string& mode = args.attrs().Str("approximate");
  if (mode == "none" || mode == "tanh") return absl::OkStatus();
  return Invalid("approximate must be \"none\" or \"tanh\", got \"", mode, "\"");
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* half = p.Mul(x, 0.5);
  if (args.attrs().Str("approximate") == "none") {
    return {p.Done(p.Mul(half, p.Add(p.Erf(p.Mul(x, kSqrtHalf)), 1)))};
  }
  Value* cube = p.Mul(p.Mul(x, x), x);
  Value* inner = p.Mul(p.Add(x, p.Mul(cube, kCubic)), kSqrtTwoOverPi);
  return {p.Done(p.Mul(half, p.Add(p.Tanh(inner), 1)))};
}

absl::Status Eval(EvalContext& c) {
  if (c.attrs().Str("approximate") == "none") {
    return EvalUnaryFloat(c, [](double x) { return 0.5 * x * (1 + std::erf(x * kSqrtHalf)); });
  }
  return EvalUnaryFloat(c, [](double x) {
    const double inner = kSqrtTwoOverPi * (x + kCubic * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
  });
}

// x/2 (1 + erf(c x)), or x/2 (1 + tanh(c (x + d x^3))).
SymInt Flops(const FlopsArgs& args) {
  return args.result_size() * (args.attrs().Str("approximate") == "tanh" ? 9 : 5);
}

}  // namespace

WEFT_DEFINE_OP(gelu, OpSpec("gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
                            "x * Phi(x) with the normal distribution Phi, by erf (\"none\") "
                            "or the usual approximation (\"tanh\"). ATen: aten::gelu.")
                         .Traits(kPointwise)
                         .Verify(Verify)
                         .Infer(InferUnaryFloat)
                         .Decompose(Decompose)
                         .DecomposeContract(NumericContract::kReassociating)
                         .Eval(Eval)
                         .Flops(Flops)
                         .Samples(R"(
gelu(f32[2, 3])
gelu(f64[4], approximate="tanh")
gelu(bf16[5])
gelu(i32[2]) ! "float"
gelu(f32[2], approximate="fast") ! "must be \"none\" or \"tanh\""
)"));

}  // namespace weft::ops
