// Piecewise linear functions.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/extrema.h"
#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

double Limit(double x, double min, double max) { return Smaller(Larger(x, min), max); }

std::vector<Value*> DecomposeSigmoid(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  const Attrs attrs = args.attrs();
  Value* x = p.Wide(args.operand(0));
  Value* line = p.Add(p.Mul(x, attrs.Float("alpha")), attrs.Float("beta"));
  return {p.Done(p.Minimum(p.Maximum(line, 0), 1))};
}

absl::Status EvalSigmoid(EvalContext& c) {
  const double alpha = FloatAttr(c, "alpha");
  const double beta = FloatAttr(c, "beta");
  return EvalUnaryFloat(c, [=](double x) { return Limit(alpha * x + beta, 0, 1); });
}

std::vector<Value*> DecomposeSwish(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* step = p.Minimum(p.Maximum(p.Add(x, 3), 0), 6);
  return {p.Done(p.Div(p.Mul(x, step), 6))};
}

absl::Status EvalSwish(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return x * Limit(x + 3, 0, 6) / 6; });
}

// Bit-exact: it chooses among the elements and the bounds, which are rounded before.
std::vector<Value*> DecomposeTanh(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* low = p.Maximum(x, args.attrs().Float("min_val"));
  return {p.Done(p.Minimum(low, args.attrs().Float("max_val")))};
}

absl::Status EvalTanh(EvalContext& c) {
  const double min = FloatAttr(c, "min_val");
  const double max = FloatAttr(c, "max_val");
  return EvalUnaryFloat(c, [=](double x) { return Limit(x, min, max); });
}

constexpr OpSpec Hard(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Infer(InferUnaryFloat);
}

}  // namespace

WEFT_DEFINE_OP(hardsigmoid, Hard("hardsigmoid(Tensor self, float alpha=0.16666666666666666, "
                                 "float beta=0.5) -> Tensor",
                                 "alpha * x + beta, limited to [0, 1]. ATen: "
                                 "aten::hardsigmoid; the attributes are those of ONNX's "
                                 "HardSigmoid.")
                                .Decompose(DecomposeSigmoid)
                                .DecomposeContract(NumericContract::kReassociating)
                                .Eval(EvalSigmoid)
                                .Flops(PerResult{4})
                                .Samples(R"(
hardsigmoid(f32[2, 3]{-5..5})
hardsigmoid(bf16[5], alpha=0.2, beta=0.4)
hardsigmoid(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(hardswish, Hard("hardswish(Tensor self) -> Tensor",
                               "x * min(max(x + 3, 0), 6) / 6. ATen: "
                               "aten::hardswish.")
                              .Decompose(DecomposeSwish)
                              .DecomposeContract(NumericContract::kReassociating)
                              .Eval(EvalSwish)
                              .Flops(PerResult{5})
                              .Samples(R"(
hardswish(f32[2, 3]{-5..5})
hardswish(f16[5])
hardswish(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(hardtanh, Hard("hardtanh(Tensor self, float min_val=-1.0, float "
                              "max_val=1.0) -> Tensor",
                              "x limited to [min_val, max_val]. ATen: "
                              "aten::hardtanh.")
                             .Fold(FoldIdempotent)
                             .Decompose(DecomposeTanh)
                             .DecomposeContract(NumericContract::kBitExact)
                             .Eval(EvalTanh)
                             .Flops(PerResult{2})
                             .Samples(R"(
hardtanh(f32[2, 3])
hardtanh(bf16[5], min_val=0.0, max_val=6.0)
hardtanh(i32[2]) ! "float"
)"));

}  // namespace weft::ops
