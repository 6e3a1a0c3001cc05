// Root mean square normalization.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/norm.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  const DType wide = ComputeDType(dtype);
  const std::vector<int64_t> dims =
      LastDims(args.type(0).rank(), args.attrs().Syms("normalized_shape").size());
  Value* x = Convert(b, args.operand(0), wide);
  Value* squares = Reduce(b, mean, b.Op(mul, {x, x}), dims);
  Value* rms = b.Op(rsqrt, {WithScalar(b, add, squares, args.attrs().Float("eps"))});
  Value* y = b.Op(mul, {x, rms});
  if (args.has(1)) y = b.Op(mul, {y, Convert(b, args.operand(1), wide)});
  return {Convert(b, y, dtype)};
}

absl::Status Eval(EvalContext& c) {
  const double eps = c.attrs().Float("eps");
  std::vector<double> x = Read<double>(c.in(0));
  const int64_t n = Numel(c.attrs().Ints("normalized_shape"));
  const std::vector<double> weight = ReadOr(c, 1, n, 1);
  for (size_t row = 0; row + n <= x.size() && n > 0; row += n) {
    double* v = x.data() + row;
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += v[i] * v[i];
    const double r = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) v[i] *= r * weight[i];
  }
  Write(x, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(rms_norm,
               OpSpec("rms_norm(Tensor input, Tensor? weight, SymInt[] normalized_shape, "
                      "float eps=1e-05) -> Tensor",
                      "input / sqrt(mean(input^2) + eps) * weight over the last dims, "
                      "those that normalized_shape lists; floats of less than 32 bits are "
                      "computed in f32. ATen: aten::rms_norm; ONNX: RMSNormalization-23.")
                   .Verify(VerifyLastDims)
                   .Infer(InferSame)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerOperand{4})
                   .Samples(R"(
rms_norm(f32[2, 3, 8], f32[8], normalized_shape=[8])
rms_norm(f32[2, 3, 4], f32[3, 4], normalized_shape=[3, 4], eps=0.01)
rms_norm(f64[2, 6], none, normalized_shape=[6])
rms_norm(f16[2, 6], f16[6], normalized_shape=[6])
rms_norm(bf16[2, 6], bf16[6], normalized_shape=[6])
rms_norm(f32[0, 6], f32[6], normalized_shape=[6])
rms_norm(f32[2, 6], f32[5], normalized_shape=[6]) ! "weight and normalized_shape: 5 and 6 differ"
rms_norm(f32[6], none, normalized_shape=[2, 6]) ! "at least rank 2"
rms_norm(i32[6], none, normalized_shape=[6]) ! "a float dtype"
)"));

WEFT_SHARED_VIEW(NormOverLast, rms_norm);

}  // namespace weft::ops
