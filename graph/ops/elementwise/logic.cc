// Logic on truth values: a number is true when it is not 0 (NaN is true).
#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"

namespace weft::ops {
namespace {

// Moves the literal to the right.
std::pair<Value*, Value*> Ordered(const OpArgs& args) {
  Value* a = args.operand(0);
  Value* b = args.operand(1);
  if (LiteralOf(a) != nullptr && LiteralOf(b) == nullptr) std::swap(a, b);
  return {a, b};
}

// A bool operand that already has the result's type, or nothing.
Folded FoldToBool(const OpArgs& args, const Value* value) {
  return FoldTo(args, value == args.operand(0) ? 0 : 1);
}

absl::Status EvalNot(EvalContext& c) {
  return EvalUnary(c, [](auto x) { return x == 0; });
}

absl::Status EvalAnd(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a != 0 && b != 0; });
}

// One operand may decide alone.
SymInt KnownAnd(SymInt a, SymInt b) {
  if (a.Is(0) || b.Is(0)) return 0;
  return a.is_constant() && b.is_constant() ? SymInt(1) : SymInt::Invalid();
}

bool SymbolicNot(SymbolicEvalContext& c) { return SymbolicUnary(c, KnownNot); }

bool SymbolicAnd(SymbolicEvalContext& c) {
  return SymbolicPointwise<2>(c, [](const auto& x) { return KnownAnd(x[0], x[1]); });
}

// and(x, x) = and(x, true) = x; and(x, false) = false.
Folded FoldAnd(const OpArgs& args) {
  const auto [x, constant] = Ordered(args);
  if (x == constant || IsIntSplatOf(constant, 1)) return FoldToBool(args, x);
  if (IsIntSplatOf(constant, 0)) return FoldToBool(args, constant);
  return {};
}

absl::Status EvalOr(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a != 0 || b != 0; });
}

bool SymbolicOr(SymbolicEvalContext& c) {
  return SymbolicPointwise<2>(
      c, [](const auto& x) { return KnownNot(KnownAnd(KnownNot(x[0]), KnownNot(x[1]))); });
}

// or(x, x) = or(x, false) = x; or(x, true) = true.
Folded FoldOr(const OpArgs& args) {
  const auto [x, constant] = Ordered(args);
  if (x == constant || IsIntSplatOf(constant, 0)) return FoldToBool(args, x);
  if (IsIntSplatOf(constant, 1)) return FoldToBool(args, constant);
  return {};
}

absl::Status EvalXor(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

// xor(x, false) = x.
Folded FoldXor(const OpArgs& args) {
  const auto [x, constant] = Ordered(args);
  if (IsIntSplatOf(constant, 0)) return FoldToBool(args, x);
  return {};
}

constexpr OpSpec Logical(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise | kCommutative).Infer(InferCompare);
}

}  // namespace

WEFT_DEFINE_OP(logical_not,
               OpSpec("logical_not(Tensor self) -> Tensor", "self == 0. ATen: aten::logical_not.")
                   .Traits(kPointwise)
                   .Infer(InferPredicate)
                   .Fold(FoldInvolution)
                   .Eval(EvalNot)
                   .SymbolicEval(SymbolicNot)
                   .Samples(R"(
logical_not(bool[2, 3])
logical_not(f32[4]{0, 1, -0.0, nan})
logical_not(c64[2]) ! "real"
)"));

WEFT_DEFINE_OP(logical_and, Logical("logical_and(Tensor self, Tensor other) -> Tensor",
                                    "Both are true. ATen: aten::logical_and.")
                                .Fold(FoldAnd)
                                .Eval(EvalAnd)
                                .SymbolicEval(SymbolicAnd)
                                .Samples(R"(
logical_and(bool[2, 3], bool[3])
logical_and(i32[4]{0..1}, i32[4]{0..1})
logical_and(bool[2], i32[2]) ! "operands have different dtypes: bool and i32"
)"));

WEFT_DEFINE_OP(logical_or, Logical("logical_or(Tensor self, Tensor other) -> Tensor",
                                   "Either is true. ATen: aten::logical_or.")
                               .Fold(FoldOr)
                               .Eval(EvalOr)
                               .SymbolicEval(SymbolicOr)
                               .Samples(R"(
logical_or(bool[2, 3], bool[3])
logical_or(i32[4]{0..1}, i32[4]{0..1})
logical_or(bool[2], bool[3]) ! "bool[2] and bool[3] do not broadcast"
)"));

WEFT_DEFINE_OP(logical_xor, Logical("logical_xor(Tensor self, Tensor other) -> Tensor",
                                    "Exactly one is true. ATen: aten::logical_xor.")
                                .Fold(FoldXor)
                                .Eval(EvalXor)
                                .Samples(R"(
logical_xor(bool[2, 3], bool[3])
logical_xor(i32[4]{0..1}, i32[4]{0..1})
logical_xor(bool[2], bool[3]) ! "bool[2] and bool[3] do not broadcast"
)"));

}  // namespace weft::ops
