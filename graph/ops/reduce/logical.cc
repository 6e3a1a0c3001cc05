// Tests whether any element, or all elements, are not zero.
#include <algorithm>

#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/reduce.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(Types types, InferReduction(args));
  types[0] = types[0].WithDType(DType::kBool);
  return types;
}

absl::Status EvalAny(EvalContext& c) {
  return EvalReduction(
      c, [](auto x) { return std::any_of(x.begin(), x.end(), [](auto v) { return v != 0; }); });
}

absl::Status EvalAll(EvalContext& c) {
  return EvalReduction(
      c, [](auto x) { return std::all_of(x.begin(), x.end(), [](auto v) { return v != 0; }); });
}

}  // namespace

WEFT_DEFINE_OP(any, OpSpec("any(Tensor self, int[] dim=[], "
                           "bool keepdim=False) -> Tensor",
                           "bool: whether an element along the dims, all when "
                           "none are given, is not zero (NaN is not). "
                           "ATen: aten::any.dims.")
                        .Traits(kReduction)
                        .Infer(Infer)
                        .Fold(FoldReduction)
                        .Eval(EvalAny)
                        .Map(MapReduction)
                        .Samples(R"(
any(bool[2, 3])
any(bool[2, 3, 4], dim=[1], keepdim=true)
any(f32[3]{0, nan, 0})
any(i64[2, 2, 2, 2]{0..1}, dim=[0, -1])
any(u64[])
any(bool[1, 1], keepdim=true)
any(bool[0, 2], dim=[0])
any(bool[2], dim=[1]) ! "dim 1 is out of range"
any(c64[2]) ! "a real dtype"
)"));

WEFT_DEFINE_OP(all, OpSpec("all(Tensor self, int[] dim=[], "
                           "bool keepdim=False) -> Tensor",
                           "bool: whether all elements along the dims, all "
                           "when none are given, are not zero (NaN is not). "
                           "ATen: aten::all.dims.")
                        .Traits(kReduction)
                        .Infer(Infer)
                        .Fold(FoldReduction)
                        .Eval(EvalAll)
                        .Map(MapReduction)
                        .Samples(R"(
all(bool[2, 3])
all(bool[2, 3, 4], dim=[1], keepdim=true)
all(f32[3]{1, nan, -0.5})
all(i64[2, 2, 2, 2]{0..1}, dim=[0, -1])
all(u64[])
all(bool[1, 1], keepdim=true)
all(bool[0, 2], dim=[0])
all(bool[2], dim=[1]) ! "dim 1 is out of range"
all(c64[2]) ! "a real dtype"
)"));

WEFT_SHARED_VIEW(DimsReduction, any, all);

}  // namespace weft::ops
