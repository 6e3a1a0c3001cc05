// Sums, products and means.
#include <limits>

#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/reduce.h"
#include "graph/ops/support/symbolic.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status EvalSum(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    using T = std::decay_t<decltype(x[0])>;
    return Accumulate(x, T{0}, WrapAdd<T>);
  });
}

bool SymbolicSum(SymbolicEvalContext& c) {
  return SymbolicReduction(c, [](SymInt a, SymInt b) { return a + b; });
}

absl::Status EvalProd(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    using T = std::decay_t<decltype(x[0])>;
    return Accumulate(x, T{1}, WrapMul<T>);
  });
}

bool SymbolicProd(SymbolicEvalContext& c) {
  return SymbolicReduction(c, [](SymInt a, SymInt b) { return a * b; });
}

absl::StatusOr<Types> InferMean(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(Types types, InferNumericReduction(args));
  const Type self = args.type(0);
  const SymInt some = Or(NotEqual(self.numel(), 0), Equal(types[0].numel(), 0));
  if (IsInt(self.dtype()) && some.is_valid() && !args.MayHold(some)) {
    return Invalid("no mean of no integers: ", self.ToString());
  }
  return types;
}

absl::Status EvalMean(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    using T = std::decay_t<decltype(x[0])>;
    if constexpr (std::is_floating_point_v<T>) {
      return x.empty() ? std::numeric_limits<T>::quiet_NaN()
                       : Accumulate(x, T{0}, WrapAdd<T>) / x.size();
    } else {
      return static_cast<T>(Accumulate(x, T{0}, WrapAdd<T>) / static_cast<T>(x.size()));
    }
  });
}

}  // namespace

WEFT_DEFINE_OP(sum, OpSpec("sum(Tensor self, int[] dim=[], "
                           "bool keepdim=False) -> Tensor",
                           "The sum along the dims, all when none are given; 0 "
                           "of no elements. Accumulates wide; integers wrap "
                           "and keep their dtype. ONNX: ReduceSum; "
                           "ATen: aten::sum.dim_IntList, which widens "
                           "integers.")
                        .Traits(kReduction)
                        .Infer(InferNumericReduction)
                        .Fold(FoldReduction)
                        .Eval(EvalSum)
                        .SymbolicEval(SymbolicSum)
                        .Map(MapReduction)
                        .Samples(R"(
sum(f32[2, 3])
sum(f32[2, 3, 4], dim=[1])
sum(f32[2, 3, 4], dim=[-1, 0], keepdim=true)
sum(f16[4, 3, 2, 2], dim=[1, 2, 3])
sum(i64[3, 5], dim=[1])
sum(u64[6])
sum(i8[40]{100..127})
sum(f64[])
sum(bf16[], dim=[0])
sum(f32[1, 1], keepdim=true)
sum(f32[0, 3], dim=[0])
sum(i32[0, 3], dim=[1])
sum(f32[2, 3], dim=[2]) ! "dim 2 is out of range"
sum(f32[2, 3], dim=[0, -2]) ! "appears twice"
sum(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(prod, OpSpec("prod(Tensor self, int[] dim=[], "
                            "bool keepdim=False) -> Tensor",
                            "The product along the dims, all when none are "
                            "given; 1 of no elements. Integers wrap and keep "
                            "their dtype. ONNX: ReduceProd; ATen: aten::prod.")
                         .Traits(kReduction)
                         .Infer(InferNumericReduction)
                         .Fold(FoldReduction)
                         .Eval(EvalProd)
                         .SymbolicEval(SymbolicProd)
                         .Map(MapReduction)
                         .Samples(R"(
prod(f32[2, 3])
prod(f32[2, 3, 4], dim=[-2], keepdim=true)
prod(i64[3, 2], dim=[0, 1])
prod(f16[5]{0.5..2})
prod(u8[2, 2]{0..4}, dim=[1])
prod(i32[])
prod(f32[0])
prod(f32[2], dim=[1]) ! "dim 1 is out of range"
prod(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(mean, OpSpec("mean(Tensor self, int[] dim=[], "
                            "bool keepdim=False) -> Tensor",
                            "The mean along the dims, all when none are given; "
                            "NaN of no elements. Of integers the quotient is "
                            "truncated toward zero. ONNX: ReduceMean; "
                            "ATen: aten::mean.dim (floats).")
                         .Traits(kReduction)
                         .Infer(InferMean)
                         .Fold(FoldReduction)
                         .Eval(EvalMean)
                         .Map(MapReduction)
                         .Samples(R"(
mean(f32[2, 3])
mean(f32[2, 3, 4], dim=[1], keepdim=true)
mean(bf16[2, 2, 2, 3], dim=[2, 3])
mean(i32[2, 3]{-9..9}, dim=[-1])
mean(u64[4])
mean(f64[])
mean(f16[0, 2], dim=[0])
mean(f32[2], dim=[-2]) ! "dim -2 is out of range"
mean(bool[2]) ! "integer or float"
)"));

WEFT_SHARED_VIEW(DimsReduction, sum, prod, mean);

}  // namespace weft::ops
