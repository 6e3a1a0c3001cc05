// Group normalization; with one channel per group it is instance normalization.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/norm.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const int64_t groups = args.attrs().Int("num_groups");
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  if (groups < 1) return Invalid("num_groups must be positive, got ", groups);
  const SymInt channels = args.type(0).dim(1);
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, Mod(channels, groups), 0, "the channels modulo num_groups"));
  for (int i = 1; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckRank(args, i, 1));
    if (!args.has(i)) continue;
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, channels, args.type(i).dim(0),
                        absl::StrCat("the channels of input and ", OperandName(args, i))));
  }
  return absl::OkStatus();
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Type input = args.type(0);
  const DType wide = ComputeDType(input.dtype());
  const SymInt groups(args.attrs().Int("num_groups"));
  // [N, groups, C / groups, ...]
  std::vector<SymInt> size = DimsOf(input);
  size[1] = FloorDiv(input.dim(1), groups);
  size.insert(size.begin() + 1, groups);
  const std::vector<int64_t> dims = LastDims(static_cast<int>(size.size()), size.size() - 2);
  Value* x = Reshape(b, Convert(b, args.operand(0), wide), size);
  Value* d = b.Op(sub, {x, Reduce(b, mean, x, dims)});
  Value* variance = Reduce(b, mean, b.Op(mul, {d, d}), dims);
  Value* rstd = b.Op(rsqrt, {WithScalar(b, add, variance, args.attrs().Float("eps"))});
  Value* y = Reshape(b, b.Op(mul, {d, rstd}), DimsOf(input));
  std::vector<SymInt> channels(input.rank() - 1, SymInt(1));
  channels[0] = input.dim(1);
  for (int i : {1, 2}) {
    if (!args.has(i)) continue;
    Value* v = Reshape(b, Convert(b, args.operand(i), wide), channels);
    y = b.Op(i == 1 ? mul : add, {y, v});
  }
  return {Convert(b, y, input.dtype())};
}

absl::Status Eval(EvalContext& c) {
  const double eps = c.attrs().Float("eps");
  const int64_t groups = c.attrs().Int("num_groups");
  const int64_t channels = c.in(0).dim(1);
  const int64_t plane = Numel(c.in(0).dims().subspan(2));
  const int64_t n = channels / groups * plane;
  std::vector<double> x = Read<double>(c.in(0));
  const std::vector<double> weight = ReadOr(c, 1, channels, 1);
  const std::vector<double> bias = ReadOr(c, 2, channels, 0);
  for (size_t begin = 0; begin + n <= x.size() && n > 0; begin += n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[begin + i];
    const double m = sum / static_cast<double>(n);
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      squares += (x[begin + i] - m) * (x[begin + i] - m);
    }
    const double r = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) {
      const size_t k = (begin + i) / plane % channels;
      x[begin + i] = (x[begin + i] - m) * r * weight[k] + bias[k];
    }
  }
  Write(x, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(group_norm,
               OpSpec("group_norm(Tensor input, Tensor? weight, Tensor? bias, "
                      "int num_groups, float eps=1e-05) -> Tensor",
                      "(input - mean) / sqrt(variance + eps) * weight + bias, with "
                      "statistics of num_groups groups of neighbouring channels of "
                      "[N, C, ...]; floats of less than 32 bits are computed in f32. "
                      "ATen: aten::group_norm; ONNX: GroupNormalization-21 and, with as "
                      "many groups as channels, InstanceNormalization-6.")
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerOperand{8})
                   .Samples(R"(
group_norm(f32[2, 6, 4, 5], f32[6], f32[6], num_groups=3)
group_norm(f32[2, 6, 5], f32[6], none, num_groups=6, eps=0.01)
group_norm(f32[2, 6], none, f32[6], num_groups=1)
group_norm(f64[2, 4, 3], none, none, num_groups=2)
group_norm(f16[2, 4, 3], f16[4], f16[4], num_groups=2)
group_norm(bf16[2, 4, 3], bf16[4], bf16[4], num_groups=2)
group_norm(f32[0, 4, 3], f32[4], f32[4], num_groups=2)
group_norm(f32[2, 4, 3], f32[4], none, num_groups=3) ! "the channels modulo num_groups: 1 and 0 differ"
group_norm(f32[2, 4, 3], f32[4], none, num_groups=0) ! "num_groups must be positive"
group_norm(f32[2, 4, 3], f32[2], none, num_groups=2) ! "the channels of input and weight: 4 and 2 differ"
group_norm(f32[4], none, none, num_groups=2) ! "at least rank 2"
group_norm(i32[2, 4], none, none, num_groups=2) ! "a float dtype"
)"));

}  // namespace weft::ops
