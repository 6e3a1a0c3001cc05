// The larger and the smaller of two operands.
#include "graph/ops/support/extrema.h"

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/symbolic.h"

namespace weft::ops {
namespace {

absl::Status EvalMaximum(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return Larger(a, b); });
}

absl::Status EvalMinimum(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return Smaller(a, b); });
}

bool SymbolicMaximum(SymbolicEvalContext& c) {
  return SymbolicBinary(c, [&](SymInt a, SymInt b) { return KnownMax(c.symbols(), a, b); });
}

bool SymbolicMinimum(SymbolicEvalContext& c) {
  return SymbolicBinary(c, [&](SymInt a, SymInt b) { return KnownMin(c.symbols(), a, b); });
}

constexpr OpSpec Extremum(const char* schema, const char* doc) {
  return OpSpec(schema, doc)
      .Traits(kPointwise | kCommutative)
      .Infer(InferBinary)
      .Fold(FoldEqualOperands);
}

}  // namespace

WEFT_DEFINE_OP(maximum, Extremum("maximum(Tensor self, Tensor other) -> Tensor",
                                 "The larger; NaN if either is NaN; 0 rather "
                                 "than -0. ATen: aten::maximum.")
                            .Eval(EvalMaximum)
                            .SymbolicEval(SymbolicMaximum)
                            .Samples(R"(
maximum(f32[2, 3], f32[3])
maximum(f32[4]{nan, 1, 0.0, -0.0}, f32[4]{1, nan, -0.0, 0.0})
maximum(u64[2], u64[2])
maximum(bool[2], bool[2])
maximum(f32[2], f64[2]) ! "operands have different dtypes: f32 and f64"
)"));

WEFT_DEFINE_OP(minimum, Extremum("minimum(Tensor self, Tensor other) -> Tensor",
                                 "The smaller; NaN if either is NaN; -0 rather "
                                 "than 0. ATen: aten::minimum.")
                            .Eval(EvalMinimum)
                            .SymbolicEval(SymbolicMinimum)
                            .Samples(R"(
minimum(f32[2, 3], f32[3])
minimum(f32[4]{nan, 1, 0.0, -0.0}, f32[4]{1, nan, -0.0, 0.0})
minimum(i64[2], i64[2])
minimum(bool[2], bool[2])
minimum(f32[2], f64[2]) ! "operands have different dtypes: f32 and f64"
)"));

}  // namespace weft::ops
