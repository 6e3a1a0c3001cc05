// Negative log likelihood.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Type self = args.type(0);
  const std::string& reduction = args.attrs().Str("reduction");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    return Invalid("reduction must be none, mean or sum, got ", reduction);
  }
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 2));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, self.rank() - 1));
  for (int d = 0; d + 1 < self.rank(); ++d) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(1).dim(d), self.dim(d == 0 ? 0 : d + 1),
                                         absl::StrCat("target in dim ", d)));
  }
  WEFT_RETURN_IF_ERROR(CheckRank(args, 2, 1));
  if (!args.has(2)) return absl::OkStatus();
  return CheckEqualSizes(args, args.type(2).dim(0), self.dim(1), "weight and the classes");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  if (args.attrs().Str("reduction") != "none") {
    return Types{args.type(0).WithDims({})};
  }
  return Types{args.type(0).WithDims(args.type(1).dims())};
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  const DType wide = ComputeDType(dtype);
  const std::string& reduction = args.attrs().Str("reduction");
  const bool ignores = args.attrs().Has("ignore_index");
  const std::vector<SymInt> dims = DimsOf(args.type(1));
  const DType index = args.type(1).dtype();
  Value* target = args.operand(1);
  Value* counts = nullptr;  // False where the target is ignored.
  if (ignores) {
    Value* ignored = b.Constant(HostTensor::ScalarInt(index, args.attrs().Int("ignore_index")));
    counts = b.Op(ne, {target, ignored});
    target = b.Op(where, {counts, target, b.Scalar(index, 0)});
  }
  // gather and index_select count negative indices from the end, but a negative class is an error,
  // so it is replaced by an index that both refuse.
  Value* negative = b.Op(lt, {target, b.Scalar(index, 0)});
  Value* refused = b.Constant(HostTensor::ScalarInt(index, IntMin(index)));
  target = b.Op(where, {negative, refused, target});
  std::vector<SymInt> column = dims;
  column.insert(column.begin() + 1, SymInt(1));
  Value* x = b.Op(gather, {args.operand(0), Reshape(b, target, column)}, {{"dim", 1}});
  Value* loss = b.Op(neg, {Convert(b, Reshape(b, x, dims), wide)});
  Value* weight = b.Scalar(wide, 1);
  if (args.has(2)) {
    weight = b.Op(index_select, {Convert(b, args.operand(2), wide), target}, {{"dim", 0}});
    loss = b.Op(mul, {loss, weight});
  }
  if (ignores) {
    Value* zero = b.Scalar(wide, 0);
    loss = b.Op(where, {counts, loss, zero});
    weight = b.Op(where, {counts, weight, zero});
  }
  if (reduction == "none") return {Convert(b, loss, dtype)};
  Value* total = b.Op(sum, {loss});
  if (reduction == "mean") {
    total = b.Op(div, {total, b.Op(sum, {Expand(b, weight, dims)})});
  }
  return {Convert(b, total, dtype)};
}

absl::Status Eval(EvalContext& c) {
  const std::vector<double> x = Read<double>(c.in(0));
  const std::vector<int64_t> targets = Read<int64_t>(c.in(1));
  const std::string& reduction = c.attrs().Str("reduction");
  const bool ignores = c.attrs().Has("ignore_index");
  const int64_t ignored = ignores ? c.attrs().Int("ignore_index") : 0;
  const int64_t classes = c.in(0).dim(1);
  const int64_t inner = Numel(c.in(0).dims().subspan(2));
  std::vector<double> weight(classes, 1);
  if (c.has(2)) weight = Read<double>(c.in(2));
  std::vector<double> loss(targets.size(), 0);
  double total = 0;
  double weights = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (ignores && targets[i] == ignored) continue;
    const int64_t k = targets[i];
    if (k < 0 || k >= classes) {
      return absl::OutOfRangeError(
          absl::StrCat("target ", k, " is not one of ", classes, " classes"));
    }
    const int64_t outer = static_cast<int64_t>(i) / inner;
    loss[i] = -x[(outer * classes + k) * inner + static_cast<int64_t>(i) % inner] * weight[k];
    total += loss[i];
    weights += weight[k];
  }
  if (reduction == "mean") total /= weights;
  if (reduction != "none") loss = {total};
  Write(loss, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(
    nll_loss,
    OpSpec("nll_loss(Tensor self, Tensor target, Tensor? weight, "
           "str reduction=\"mean\", int? ignore_index=None) -> Tensor",
           "-weight[t] * self[n, t, ...] for the class t that target [N, ...] "
           "names, of log probabilities [N, C, ...]; 0 where it is "
           "ignore_index. The mean is over the weights of the targets that "
           "count. Floats of less than 32 bits are computed in f32. ATen: aten::nll_loss_nd; ONNX: "
           "NegativeLogLikelihoodLoss-22.")
        .Verify(Verify)
        .Infer(Infer)
        .Decompose(Decompose)
        .DecomposeContract(NumericContract::kReassociating)
        .Eval(Eval)
        .Flops(PerResult{2})
        .Samples(R"(
nll_loss(f32[3, 4], i64[3]{1, 0, 3}, none)
nll_loss(f32[3, 4, 2, 3], i64[3, 2, 3]{0..3}, f32[4]{0.1..1}, reduction="none")
nll_loss(f32[3, 4, 2], i64[3, 2]{1, 0, -100, 3, 2, -100}, f32[4]{0.1..1}, ignore_index=-100)
nll_loss(f32[3, 4, 2], i32[3, 2]{0..3}, none, reduction="sum", ignore_index=2)
nll_loss(f32[3, 4, 2], i32[3, 2]{0..3}, none, reduction="none", ignore_index=1)
nll_loss(f64[3, 4], i64[3]{1, 0, 3}, f64[4]{0.1..1})
nll_loss(f16[3, 4], i64[3]{1, 0, 3}, f16[4]{0.1..1})
nll_loss(bf16[3, 4], i64[3]{1, 0, 3}, none)
nll_loss(f32[0, 4], i64[0], none, reduction="sum")
nll_loss(f32[3, 4, 2], i64[3, 3], none) ! "target in dim 1: 3 and 2 differ"
nll_loss(f32[3, 4, 2], i64[3], none) ! "target must have rank 2"
nll_loss(f32[3, 4], i64[3], f32[3]) ! "weight and the classes: 3 and 4 differ"
nll_loss(f32[3, 4], f32[3], none) ! "i32 or i64"
nll_loss(f32[3, 4], i64[3], f64[4]) ! "different dtypes"
nll_loss(f32[4], i64[], none) ! "at least rank 2"
nll_loss(f32[3, 4], i64[3], none, reduction="avg") ! "reduction must be none, mean or sum"
)"));

}  // namespace weft::ops
