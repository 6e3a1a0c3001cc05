// Comparisons.
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {
namespace {

absl::Status EvalEq(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a == b; });
}
absl::Status EvalNe(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a != b; });
}
absl::Status EvalLt(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a < b; });
}
absl::Status EvalLe(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a <= b; });
}
absl::Status EvalGt(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a > b; });
}
absl::Status EvalGe(EvalContext& c) {
  return EvalCompare(c, [](auto a, auto b) { return a >= b; });
}

bool SymbolicEq(SymbolicEvalContext& c) {
  return SymbolicBinary(c,
                        [&](SymInt a, SymInt b) { return KnownTruth(c.symbols().ProveEq(a, b)); });
}
bool SymbolicNe(SymbolicEvalContext& c) {
  return SymbolicBinary(
      c, [&](SymInt a, SymInt b) { return KnownNot(KnownTruth(c.symbols().ProveEq(a, b))); });
}
bool SymbolicLt(SymbolicEvalContext& c) {
  return SymbolicBinary(c,
                        [&](SymInt a, SymInt b) { return KnownTruth(c.symbols().ProveLt(a, b)); });
}
bool SymbolicLe(SymbolicEvalContext& c) {
  return SymbolicBinary(c,
                        [&](SymInt a, SymInt b) { return KnownTruth(c.symbols().ProveLe(a, b)); });
}
bool SymbolicGt(SymbolicEvalContext& c) {
  return SymbolicBinary(c,
                        [&](SymInt a, SymInt b) { return KnownTruth(c.symbols().ProveLt(b, a)); });
}
bool SymbolicGe(SymbolicEvalContext& c) {
  return SymbolicBinary(c,
                        [&](SymInt a, SymInt b) { return KnownTruth(c.symbols().ProveLe(b, a)); });
}

constexpr OpSpec Comparison(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Infer(InferCompare);
}

}  // namespace

WEFT_DEFINE_OP(eq, Comparison("eq(Tensor self, Tensor other) -> Tensor",
                              "Equal; NaN equals nothing. ATen: aten::eq.Tensor.")
                       .Traits(kPointwise | kCommutative)
                       .Eval(EvalEq)
                       .SymbolicEval(SymbolicEq)
                       .Samples(R"(
eq(f32[2, 3]{-1, 0, 1, nan, -0.0, 2}, f32[3]{0, 0, nan})
eq(i64[4]{0..2}, i64[1]{1})
eq(bool[2], bool[2])
eq(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

WEFT_DEFINE_OP(ne, Comparison("ne(Tensor self, Tensor other) -> Tensor",
                              "Not equal; NaN differs from everything. ATen: aten::ne.Tensor.")
                       .Traits(kPointwise | kCommutative)
                       .Eval(EvalNe)
                       .SymbolicEval(SymbolicNe)
                       .Samples(R"(
ne(f32[2, 3]{-1, 0, 1, nan, -0.0, 2}, f32[3]{0, 0, nan})
ne(i64[4]{0..2}, i64[1]{1})
ne(bool[2], bool[2])
ne(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

WEFT_DEFINE_OP(lt, Comparison("lt(Tensor self, Tensor other) -> Tensor",
                              "self < other. ATen: aten::lt.Tensor.")
                       .Eval(EvalLt)
                       .SymbolicEval(SymbolicLt)
                       .Samples(R"(
lt(f32[2, 3]{-1, 0, 1, nan, -0.0, 2}, f32[3]{0, 0, nan})
lt(i64[4]{0..2}, i64[1]{1})
lt(bool[2], bool[2])
lt(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

WEFT_DEFINE_OP(le, Comparison("le(Tensor self, Tensor other) -> Tensor",
                              "self <= other. ATen: aten::le.Tensor.")
                       .Eval(EvalLe)
                       .SymbolicEval(SymbolicLe)
                       .Samples(R"(
le(f32[2, 3]{-1, 0, 1, nan, -0.0, 2}, f32[3]{0, 0, nan})
le(i64[4]{0..2}, i64[1]{1})
le(bool[2], bool[2])
le(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

WEFT_DEFINE_OP(gt, Comparison("gt(Tensor self, Tensor other) -> Tensor",
                              "self > other. ATen: aten::gt.Tensor.")
                       .Eval(EvalGt)
                       .SymbolicEval(SymbolicGt)
                       .Samples(R"(
gt(f32[2, 3]{-1, 0, 1, nan, -0.0, 2}, f32[3]{0, 0, nan})
gt(i64[4]{0..2}, i64[1]{1})
gt(bool[2], bool[2])
gt(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

WEFT_DEFINE_OP(ge, Comparison("ge(Tensor self, Tensor other) -> Tensor",
                              "self >= other. ATen: aten::ge.Tensor.")
                       .Eval(EvalGe)
                       .SymbolicEval(SymbolicGe)
                       .Samples(R"(
ge(f32[2, 3]{-1, 0, 1, nan, -0.0, 2}, f32[3]{0, 0, nan})
ge(i64[4]{0..2}, i64[1]{1})
ge(bool[2], bool[2])
ge(f32[2], i64[2]) ! "operands have different dtypes: f32 and i64"
)"));

}  // namespace weft::ops
