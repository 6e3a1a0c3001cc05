// Updates of single elements by index along one dim.
#include "graph/ops/ops.h"
#include "graph/ops/support/index.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/update.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// Checks that `index` is not larger than operand i in any dim except `skip`.
absl::Status CheckWithin(const OpArgs& args, int i, int skip) {
  const Type index = args.type(1);
  const Type type = args.type(i);
  for (int d = 0; d < index.rank(); ++d) {
    if (d != skip && !args.MayHold(LessEqual(index.dim(d), type.dim(d)))) {
      return Invalid("index of type ", index.ToString(), " is larger than ", OperandName(args, i),
                     " of type ", type.ToString(), " in dim ", d);
    }
  }
  return absl::OkStatus();
}

absl::Status Verify(const OpArgs& args) {
  const int rank = args.type(0).rank();
  WEFT_RETURN_IF_ERROR(CheckReduce(args));
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 2));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, rank));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 2, rank));
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), rank));
  WEFT_RETURN_IF_ERROR(CheckWithin(args, 0, dim));
  return CheckWithin(args, 2, -1);
}

// Folds to self if there are no indices: nothing is written.
Folded Fold(const OpArgs& args) {
  if (args.type(1).numel().Is(0)) return args.operand(0);
  return {};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> along, ReadIndices(c.in(1), self.dim(dim)));
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  const std::vector<int64_t> src_strides = ContiguousStrides(c.in(2).dims());
  std::vector<int64_t> target(c.in(2).numel(), -1);
  size_t at = 0;
  ForEachIndex(c.in(1).dims(), [&](absl::Span<const int64_t> index) {
    target[Dot(index, src_strides)] =
        Dot(index, strides) + (along[at++] - index[dim]) * strides[dim];
  });
  return Update(self, c.in(2), target, c.attrs().Str("reduce"), &c.out(0));
}

std::vector<Value*> Functional(Builder& b, const OpArgs& args) {
  return b.Create(scatter, args.operands, args.attr_list);
}

}  // namespace

WEFT_DEFINE_OP(scatter, OpSpec("scatter(Tensor self, Tensor index, Tensor src, int dim, "
                               "str reduce=\"none\") -> Tensor",
                               "self with each element of src, as far as index goes, put at the "
                               "same place but at that index along `dim`, or combined with what is "
                               "there (add, mul, max, min); for none the last of several wins. "
                               "Negative indices count from the end. ONNX: ScatterElements; "
                               "ATen: aten::scatter.src, aten::scatter_reduce.two with "
                               "include_self.")
                            .Verify(Verify)
                            .Infer(InferSame)
                            .Fold(Fold)
                            .Eval(Eval)
                            .Map(Absent{"several elements may be written to one place"})
                            .Flops(PerResult{0})
                            .Samples(R"(
scatter(f32[3, 4], i64[2, 2]{0, 1, 2, -1}, f32[2, 2], dim=1)
scatter(i64[5], i32[4]{-5..4}, i64[4], dim=0, reduce="add")
scatter(f16[2, 3], i64[2, 3]{0..1}, f16[2, 3], dim=0, reduce="mul")
scatter(u64[2, 2, 3, 2], i64[1, 2, 5, 1]{-3..2}, u64[2, 2, 5, 2], dim=2, reduce="max")
scatter(f32[4]{1, nan, 2, 3}, i64[4]{0, 1, 2, 2}, f32[4]{nan, 0, 5, -1}, dim=0, reduce="min")
scatter(bool[4], i64[3]{0..3}, bool[3], dim=0, reduce="add")
scatter(u4[5], i64[2]{1, 3}, u4[2], dim=-1)
scatter(c64[3], i64[1]{2}, c64[1], dim=0)
scatter(bf16[3], i64[0], bf16[0], dim=0)
scatter(f32[0, 2], i64[0, 1], f32[0, 1], dim=0, reduce="add")
scatter(f32[3], i64[2], i32[2], dim=0) ! "different dtypes: f32 and i32"
scatter(f32[3], i64[2], f32[1], dim=0) ! "larger than src of type f32[1] in dim 0"
scatter(f32[2, 3], i64[3, 3], f32[3, 3], dim=1) ! "larger than self"
scatter(f32[3], i64[2], f32[2], dim=0, reduce="avg") ! "unknown reduce \"avg\""
scatter(f32[3], f32[2], f32[2], dim=0) ! "i32 or i64"
scatter(c64[3], i64[1], c64[1], dim=0, reduce="add") ! "a real dtype"
scatter(f32[3], i64[1], f32[1], dim=1) ! "dim 1 is out of range"
)"));

WEFT_DEFINE_OP(scatter_, OpSpec("scatter_(Tensor(a!) self, Tensor index, Tensor src, int dim, "
                                "str reduce=\"none\") -> Tensor(a!)",
                                "scatter, written over self.")
                             .Traits(kSideEffect)
                             .Verify(Verify)
                             .Infer(InferSame)
                             .Eval(Eval)
                             .Functional(Functional)
                             .Flops(PerResult{0})
                             .Samples(R"(
scatter_(f32[3, 4], i64[2, 2]{0, 1, 2, -1}, f32[2, 2], dim=1)
scatter_(i64[5], i32[4]{-5..4}, i64[4], dim=0, reduce="add")
scatter_(u4[5], i64[2]{1, 3}, u4[2], dim=-1)
scatter_(bf16[3], i64[0], bf16[0], dim=0)
scatter_(f32[3], i64[2], i32[2], dim=0) ! "different dtypes: f32 and i32"
)"));

}  // namespace weft::ops
