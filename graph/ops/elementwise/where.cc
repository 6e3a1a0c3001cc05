// Selection between two tensors.
#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckBool(args, 0));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args, 1, 2));
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> dims, BroadcastDims(args, args.types));
  return Types{args.type(1).WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  HostTensor& out = c.out(0);
  const std::vector<int64_t> condition = Read<int64_t>(c.in(0));
  // Row-major index of the source of each element, or -1.
  std::vector<int64_t> self(out.numel(), -1);
  std::vector<int64_t> other(out.numel(), -1);
  ForEachOffset<3>(
      out.dims(),
      {BroadcastStrides(c.in(0).dims(), out.dims()), BroadcastStrides(c.in(1).dims(), out.dims()),
       BroadcastStrides(c.in(2).dims(), out.dims())},
      [&](int64_t i, const std::array<int64_t, 3>& at) {
        if (condition[at[0]] != 0) {
          self[i] = at[1];
        } else {
          other[i] = at[2];
        }
      });
  Gather(c.in(1), self, &out);
  Gather(c.in(2), other, &out);
  return absl::OkStatus();
}

bool SymbolicEval(SymbolicEvalContext& c) {
  return SymbolicPointwise<3>(c, [](const auto& x) {
    if (x[1] == x[2]) return x[1];
    if (!x[0].is_constant()) return SymInt::Invalid();
    return x[0].Is(0) ? x[2] : x[1];
  });
}

// where(c, x, x) = where(true, x, y) = where(false, y, x) = x.
Folded Fold(const OpArgs& args) {
  if (args.operand(1) == args.operand(2) || IsIntSplatOf(args.operand(0), 1)) {
    return FoldTo(args, 1);
  }
  if (IsIntSplatOf(args.operand(0), 0)) return FoldTo(args, 2);
  return {};
}

}  // namespace

WEFT_DEFINE_OP(where, OpSpec("where(Tensor condition, Tensor self, Tensor other) -> Tensor",
                             "self where the condition is true, else other; all three broadcast. "
                             "ATen: aten::where.self.")
                          .Traits(kPointwise)
                          .Infer(Infer)
                          .Fold(Fold)
                          .Eval(Eval)
                          .SymbolicEval(SymbolicEval)
                          .Flops(PerResult{0})
                          .Samples(R"(
where(bool[2, 3], f32[2, 3], f32[3])
where(bool[3], i4[2, 1], i4[])
where(bool[2, 1], c64[2, 3], c64[3])
where(i32[2], f32[2], f32[2]) ! "condition must have bool dtype, got i32"
where(bool[2], f32[2], f64[2]) ! "operands have different dtypes: f32 and f64"
)"));

}  // namespace weft::ops
