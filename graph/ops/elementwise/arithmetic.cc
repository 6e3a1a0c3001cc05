// Sums, differences and products. Integers wrap; on bool, add is `or` and mul is `and`.
#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"

namespace weft::ops {
namespace {

absl::Status EvalAdd(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return WrapAdd(a, b); });
}

// On bool it is `or`, which has no rule.
bool SymbolicAdd(SymbolicEvalContext& c) {
  if (c.out_type().dtype() == DType::kBool) return false;
  return SymbolicBinary(c, [](SymInt a, SymInt b) { return a + b; });
}

// x + 0 = x for integers; of floats, x + -0 = x (0 would change -0).
Folded FoldAdd(const OpArgs& args) {
  const double zero = IsFloat(args.type(0).dtype()) ? -0.0 : 0.0;
  for (int i : {1, 0}) {
    if (IsSplatOf(args.operand(i), zero)) return FoldTo(args, 1 - i);
  }
  return {};
}

absl::Status EvalSub(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return WrapSub(a, b); });
}

bool SymbolicSub(SymbolicEvalContext& c) {
  return SymbolicBinary(c, [](SymInt a, SymInt b) { return a - b; });
}

// x - 0 = x.
Folded FoldSub(const OpArgs& args) {
  if (IsSplatOf(args.operand(1), 0.0)) return FoldTo(args, 0);
  return {};
}

absl::Status EvalMul(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return WrapMul(a, b); });
}

bool SymbolicMul(SymbolicEvalContext& c) {
  return SymbolicBinary(c, [](SymInt a, SymInt b) { return a * b; });
}

// x * 1 = x; x * 0 = 0 for integers alone.
Folded FoldMul(const OpArgs& args) {
  for (int i : {1, 0}) {
    if (IsSplatOf(args.operand(i), 1.0)) return FoldTo(args, 1 - i);
    if (IsIntSplatOf(args.operand(i), 0)) return FoldTo(args, i);
  }
  return {};
}

}  // namespace

WEFT_DEFINE_OP(add, OpSpec("add(Tensor self, Tensor other) -> Tensor",
                           "ATen: aten::add.Tensor with alpha 1.")
                        .Traits(kPointwise | kCommutative)
                        .Infer(InferBinary)
                        .Fold(FoldAdd)
                        .Eval(EvalAdd)
                        .SymbolicEval(SymbolicAdd)
                        .Samples(R"(
add(f32[2, 3], f32[3])
add(f32[2, 1, 3], f32[4, 1])
add(i8[2]{127, 100}, i8[2]{1, 100})
add(bool[2, 2], bool[2])
add(f32[2, 3], f32[4]) ! "f32[2, 3] and f32[4] do not broadcast"
add(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

WEFT_DEFINE_OP(sub, OpSpec("sub(Tensor self, Tensor other) -> Tensor",
                           "ATen: aten::sub.Tensor with alpha 1.")
                        .Traits(kPointwise)
                        .Infer(InferBinaryNumeric)
                        .Fold(FoldSub)
                        .Eval(EvalSub)
                        .SymbolicEval(SymbolicSub)
                        .Samples(R"(
sub(f32[2, 3], f32[3])
sub(u8[2]{1, 100}, u8[2]{2, 50})
sub(bool[2], bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(mul, OpSpec("mul(Tensor self, Tensor other) -> Tensor", "ATen: aten::mul.Tensor.")
                        .Traits(kPointwise | kCommutative)
                        .Infer(InferBinary)
                        .Fold(FoldMul)
                        .Eval(EvalMul)
                        .SymbolicEval(SymbolicMul)
                        .Samples(R"(
mul(f32[2, 3], f32[3])
mul(i64[2, 2], i64[1])
mul(bool[2], bool[2])
mul(f32[2, 3], f32[4]) ! "f32[2, 3] and f32[4] do not broadcast"
)"));

}  // namespace weft::ops
