// Batch normalization with given statistics.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  for (int i = 0; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckFloat(args, i));
    if (i == 0) continue;
    WEFT_RETURN_IF_ERROR(CheckRank(args, i, 1));
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, args.type(0).dim(1), args.type(i).dim(0),
                        absl::StrCat("the channels of input and ", OperandName(args, i))));
  }
  return absl::OkStatus();
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  DType wide = ComputeDType(dtype);
  for (Type t : args.types) {
    if (t.dtype() == DType::kF64) wide = DType::kF64;
  }
  std::vector<SymInt> size(args.type(0).rank() - 1, SymInt(1));
  size[0] = args.type(0).dim(1);
  const auto channels = [&](Value* v) { return Reshape(b, Convert(b, v, wide), size); };
  Value* rstd = b.Op(
      rsqrt, {WithScalar(b, add, Convert(b, args.operand(4), wide), args.attrs().Float("eps"))});
  Value* scale = b.Op(mul, {rstd, Convert(b, args.operand(1), wide)});
  Value* y = b.Op(sub, {Convert(b, args.operand(0), wide), channels(args.operand(3))});
  y = b.Op(mul, {y, channels(scale)});
  y = b.Op(add, {y, channels(args.operand(2))});
  return {Convert(b, y, dtype)};
}

absl::Status Eval(EvalContext& c) {
  const double eps = c.attrs().Float("eps");
  std::vector<double> x = Read<double>(c.in(0));
  const std::vector<double> weight = Read<double>(c.in(1));
  const std::vector<double> bias = Read<double>(c.in(2));
  const std::vector<double> mean = Read<double>(c.in(3));
  const std::vector<double> var = Read<double>(c.in(4));
  const int64_t plane = Numel(c.in(0).dims().subspan(2));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = i / plane % weight.size();
    x[i] = (x[i] - mean[k]) / std::sqrt(var[k] + eps) * weight[k] + bias[k];
  }
  Write(x, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(batch_norm,
               OpSpec("batch_norm(Tensor input, Tensor weight, Tensor bias, "
                      "Tensor running_mean, Tensor running_var, float eps=1e-05) -> "
                      "Tensor",
                      "(input - running_mean) / sqrt(running_var + eps) * weight + bias "
                      "for each channel of [N, C, ...]. The parameters may be of other "
                      "float dtypes than input, whose dtype the result has; floats of "
                      "less than 32 bits are computed in f32. ATen: the inference form "
                      "of aten::native_batch_norm; ONNX: BatchNormalization-15.")
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerOperand{4})
                   .Samples(R"(
batch_norm(f32[2, 3, 4, 5], f32[3], f32[3], f32[3], f32[3]{0.1..2})
batch_norm(f32[2, 3], f32[3], f32[3], f32[3], f32[3]{0.1..2}, eps=0.01)
batch_norm(f64[2, 3, 4], f64[3], f64[3], f64[3], f64[3]{0.1..2})
batch_norm(f16[2, 3, 4], f16[3], f16[3], f16[3], f16[3]{0.1..2})
batch_norm(bf16[2, 3, 4], f32[3], f32[3], f32[3], f32[3]{0.1..2})
batch_norm(f32[0, 3, 4], f32[3], f32[3], f32[3], f32[3]{0.1..2})
batch_norm(f32[2, 3, 4], f32[3], f32[3], f32[3], f32[4]) ! "the channels of input and running_var: 3 and 4 differ"
batch_norm(f32[2, 3, 4], f32[3], f32[1, 3], f32[3], f32[3]) ! "bias must have rank 1"
batch_norm(f32[3], f32[3], f32[3], f32[3], f32[3]) ! "at least rank 2"
batch_norm(i32[2, 3], f32[3], f32[3], f32[3], f32[3]) ! "a float dtype"
)"));

}  // namespace weft::ops
