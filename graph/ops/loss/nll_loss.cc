// Negative log-likelihood loss.
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, args.type(0).rank() - 1));
  for (int i = 0; i < args.type(1).rank(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(
        args, args.type(0).dim(i == 0 ? 0 : i + 1), args.type(1).dim(i),
        absl::StrCat("dim ", i, " of target")));
  }
  if (args.has(2)) {
    WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 2));
    WEFT_RETURN_IF_ERROR(CheckRank(args, 2, 1));
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(0).dim(1),
                                         args.type(2).dim(0),
                                         "the classes of self and weight"));
  }
  const std::string& reduction = args.attrs().Str("reduction");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    return Invalid("reduction must be none, mean or sum, not ", reduction);
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  if (args.attrs().Str("reduction") != "none") return Types{Type::Scalar(dtype)};
  return Types{args.type(1).WithDType(dtype)};
}

absl::Status Eval(EvalContext& c) {
  const std::vector<double> x = Read<double>(c.in(0));
  const std::vector<int64_t> target = Read<int64_t>(c.in(1));
  const int64_t classes = c.in(0).dim(1);
  const int64_t plane = Numel(c.in(0).dims().subspan(2));
  std::vector<double> weight(classes, 1.0);
  if (c.has(2)) weight = Read<double>(c.in(2));
  const bool ignores = c.attrs().Has("ignore_index");
  const int64_t ignored = ignores ? c.attrs().Int("ignore_index") : 0;
  std::vector<double> loss(target.size(), 0.0);
  double sum = 0, total_weight = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const int64_t t = target[i];
    if (ignores && t == ignored) continue;
    if (t < 0 || t >= classes) {
      return absl::OutOfRangeError(
          absl::StrCat("target ", t, " is not one of ", classes, " classes"));
    }
    const int64_t n = static_cast<int64_t>(i) / plane;
    loss[i] = -x[(n * classes + t) * plane + i % plane] * weight[t];
    sum += loss[i];
    total_weight += weight[t];
  }
  const std::string& reduction = c.attrs().Str("reduction");
  if (reduction == "sum") loss = {sum};
  if (reduction == "mean") loss = {sum / total_weight};
  Write(loss, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(nll_loss,
    OpSpec("nll_loss(Tensor self, Tensor target, Tensor? weight, "
           "str reduction=\"mean\", int? ignore_index=None) -> Tensor",
           "-self[n, target[n, d...], d...] * weight[target] for log "
           "probabilities self of [N, C, d...], each on its own (none), "
           "summed, or as a mean weighted by `weight`. Targets equal to "
           "`ignore_index` count nothing. ATen: aten::nll_loss_forward; ONNX: "
           "NegativeLogLikelihoodLoss-13.")
        .Verify(Verify)
        .Infer(Infer)
        .Eval(Eval)
        .Samples(R"(
nll_loss(f32[3, 4], i64[3]{0..3}, none)
nll_loss(f32[3, 4], i64[3]{0..3}, f32[4]{0.1..1})
nll_loss(f32[2, 4, 3, 2], i64[2, 3, 2]{0..3}, f32[4]{0.1..1}, reduction="none")
nll_loss(f64[2, 4, 3], i32[2, 3]{0..3}, none, reduction="sum", ignore_index=1)
nll_loss(f16[3, 4], i64[3]{1, -1, 3}, none, ignore_index=-1)
nll_loss(f32[0, 4], i64[0], none, reduction="none")
nll_loss(f32[3, 4], i64[2], none) ! "dim 0 of target"
nll_loss(f32[3, 4], f32[3], none) ! "target"
nll_loss(f32[3, 4], i64[3], f32[5]) ! "the classes of self and weight"
nll_loss(f32[3, 4], i64[3], none, reduction="median") ! "none, mean or sum"
)"));

}  // namespace weft::ops
