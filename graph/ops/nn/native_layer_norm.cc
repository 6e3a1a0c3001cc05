// Layer normalization.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/norm.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type input = args.type(0);
  std::vector<SymInt> dims = DimsOf(input);
  const size_t n = args.attrs().Syms("normalized_shape").size();
  for (size_t i = dims.size() - n; i < dims.size(); ++i) dims[i] = 1;
  const Type statistics = Type::Tensor(ComputeDType(input.dtype()), dims);
  return Types{input, statistics, statistics};
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  const DType wide = ComputeDType(dtype);
  const std::vector<int64_t> dims =
      LastDims(args.type(0).rank(), args.attrs().Syms("normalized_shape").size());
  Value* x = Convert(b, args.operand(0), wide);
  Value* center = Reduce(b, mean, x, dims);
  Value* d = b.Op(sub, {x, center});
  Value* variance = Reduce(b, mean, b.Op(mul, {d, d}), dims);
  Value* rstd = b.Op(rsqrt, {WithScalar(b, add, variance, args.attrs().Float("eps"))});
  Value* y = b.Op(mul, {d, rstd});
  if (args.has(1)) y = b.Op(mul, {y, Convert(b, args.operand(1), wide)});
  if (args.has(2)) y = b.Op(add, {y, Convert(b, args.operand(2), wide)});
  return {Convert(b, y, dtype), center, rstd};
}

absl::Status Eval(EvalContext& c) {
  const double eps = c.attrs().Float("eps");
  std::vector<double> x = Read<double>(c.in(0));
  std::vector<double> means(c.out(1).numel());
  std::vector<double> rstds(means.size());
  const int64_t n = Numel(c.attrs().Ints("normalized_shape"));
  const std::vector<double> weight = ReadOr(c, 1, n, 1);
  const std::vector<double> bias = ReadOr(c, 2, n, 0);
  for (size_t row = 0; row < means.size(); ++row) {
    double* v = x.data() + row * n;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += v[i];
    const double m = sum / static_cast<double>(n);
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += (v[i] - m) * (v[i] - m);
    const double r = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) v[i] = (v[i] - m) * r * weight[i] + bias[i];
    means[row] = m;
    rstds[row] = r;
  }
  Write(x, &c.out(0));
  Write(means, &c.out(1));
  Write(rstds, &c.out(2));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(native_layer_norm,
               OpSpec("native_layer_norm(Tensor input, Tensor? weight, Tensor? bias, "
                      "SymInt[] normalized_shape, float eps=1e-05) -> "
                      "(Tensor output, Tensor mean, Tensor rstd)",
                      "(input - mean) * rstd * weight + bias over the last dims, those "
                      "that normalized_shape lists, with rstd = 1 / sqrt(variance + eps). "
                      "The statistics have size 1 there, and are f32 for floats of less "
                      "than 32 bits, which is also what those are computed in. "
                      "ATen: aten::native_layer_norm.")
                   .Verify(VerifyLastDims)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerOperand{8})
                   .Samples(R"(
native_layer_norm(f32[2, 3, 8], f32[8], f32[8], normalized_shape=[8])
native_layer_norm(f32[2, 3, 4], f32[3, 4], none, normalized_shape=[3, 4], eps=0.01)
native_layer_norm(f32[2, 3, 4], none, f32[4], normalized_shape=[4])
native_layer_norm(f64[2, 6], none, none, normalized_shape=[6])
native_layer_norm(f16[2, 6], f16[6], f16[6], normalized_shape=[6])
native_layer_norm(bf16[2, 6], bf16[6], none, normalized_shape=[6])
native_layer_norm(f32[0, 6], f32[6], none, normalized_shape=[6])
native_layer_norm(f32[2, 6], f32[5], none, normalized_shape=[6]) ! "weight and normalized_shape: 5 and 6 differ"
native_layer_norm(f32[2, 6], none, none, normalized_shape=[3]) ! "input and normalized_shape: 6 and 3 differ"
native_layer_norm(f32[2, 6], none, f32[1, 6], normalized_shape=[6]) ! "bias must have rank 1"
native_layer_norm(f32[6], none, none, normalized_shape=[2, 6]) ! "at least rank 2"
native_layer_norm(f32[6], none, none, normalized_shape=[]) ! "must not be empty"
native_layer_norm(f32[6], f16[6], none, normalized_shape=[6]) ! "different dtypes"
native_layer_norm(i32[6], none, none, normalized_shape=[6]) ! "a float dtype"
)"));

WEFT_SHARED_VIEW(NormOverLast, native_layer_norm);

}  // namespace weft::ops
