// Exponential linear units.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

// x > 0 ? scale * x : scale * alpha * expm1(input_scale * x)
struct Factors {
  double alpha = 1;
  double scale = 1;
  double input_scale = 1;
};

std::vector<Value*> Expand(Builder& b, const OpArgs& args, Factors f) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* scaled = f.input_scale == 1 ? x : p.Mul(x, f.input_scale);
  Value* below = p.Mul(p.Expm1(scaled), f.alpha * f.scale);
  Value* above = f.scale == 1 ? x : p.Mul(x, f.scale);
  return {p.Done(p.Where(p.Greater(x, 0), above, below))};
}

absl::Status Compute(EvalContext& c, Factors f) {
  return EvalUnaryFloat(c, [f](double x) {
    return x > 0 ? x * f.scale : f.alpha * f.scale * std::expm1(x * f.input_scale);
  });
}

Factors Elu(const Attrs& a) { return {a.Float("alpha"), a.Float("scale"), a.Float("input_scale")}; }
Factors Selu(const Attrs& a) { return {a.Float("alpha"), a.Float("gamma"), 1}; }
Factors Celu(const Attrs& a) { return {a.Float("alpha"), 1, 1 / a.Float("alpha")}; }

template <Factors (*factors)(const Attrs&)>
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  return Expand(b, args, factors(args.attrs()));
}

template <Factors (*factors)(const Attrs&)>
absl::Status Eval(EvalContext& c) {
  return Compute(c, factors(c.attrs()));
}

absl::Status VerifyCelu(const OpArgs& args) {
  if (args.attrs().Float("alpha") != 0) return absl::OkStatus();
  return Invalid("alpha must not be 0");
}

template <Factors (*factors)(const Attrs&)>
constexpr OpSpec Unit(const char* schema, const char* doc) {
  return OpSpec(schema, doc)
      .Traits(kPointwise)
      .Infer(InferUnaryFloat)
      .Decompose(Decompose<factors>)
      .DecomposeContract(NumericContract::kReassociating)
      .Eval(Eval<factors>);
}

}  // namespace

WEFT_DEFINE_OP(elu, Unit<Elu>("elu(Tensor self, float alpha=1.0, float scale=1.0, "
                              "float input_scale=1.0) -> Tensor",
                              "scale * x above 0, else scale * alpha * "
                              "expm1(input_scale * x). ATen: aten::elu.")
                        .Flops(PerResult{4, 1})
                        .Samples(R"(
elu(f32[2, 3])
elu(f32[4], alpha=0.5, scale=2.0, input_scale=0.25)
elu(bf16[5])
elu(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(selu, Unit<Selu>("selu(Tensor self, float "
                                "alpha=1.6732632423543772, float "
                                "gamma=1.0507009873554805) -> Tensor",
                                "gamma * x above 0, else gamma * alpha * "
                                "expm1(x). ATen: aten::selu; the attributes are "
                                "ONNX's.")
                         .Flops(PerResult{4, 1})
                         .Samples(R"(
selu(f32[2, 3])
selu(f16[4], alpha=0.5, gamma=2.0)
selu(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(celu, Unit<Celu>("celu(Tensor self, float alpha=1.0) -> Tensor",
                                "x above 0, else alpha * expm1(x / alpha). ATen: "
                                "aten::celu.")
                         .Verify(VerifyCelu)
                         .Flops(PerResult{5, 2})
                         .Samples(R"(
celu(f32[2, 3])
celu(f32[4], alpha=2.0)
celu(i32[2]) ! "float"
celu(f32[2], alpha=0.0) ! "alpha must not be 0"
)"));

}  // namespace weft::ops
