// The largest and the smallest element.
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/reduce.h"

namespace weft::ops {
namespace {

template <bool kLargest>
absl::Status Eval(EvalContext& c) {
  const DType dtype = c.in(0).dtype();
  return EvalReduction(c, [dtype](auto x) {
    using T = std::decay_t<decltype(x[0])>;
    const T empty = kLargest ? LowestOf<T>(dtype) : HighestOf<T>(dtype);
    return Accumulate(x, empty, [](T a, T b) {
      if (IsNan(a) || IsNan(b)) return IsNan(a) ? a : b;
      return (kLargest ? b > a : b < a) ? b : a;
    });
  });
}

}  // namespace

WEFT_DEFINE_OP(amax, OpSpec("amax(Tensor self, int[] dim=[], "
                            "bool keepdim=False) -> Tensor",
                            "The largest element along the dims, all when none "
                            "are given; NaN if there is one. Of no elements "
                            "the smallest value of the dtype. "
                            "ONNX: ReduceMax; ATen: aten::amax.")
                         .Traits(kReduction)
                         .Infer(InferReduction)
                         .Fold(FoldReduction)
                         .Eval(Eval<true>)
                         .Map(MapReduction)
                         .Samples(R"(
amax(f32[2, 3])
amax(f32[2, 3, 4], dim=[1])
amax(i64[2, 3, 4, 2], dim=[-1, 1], keepdim=true)
amax(f16[3]{1, nan, 2})
amax(u64[4])
amax(bool[2, 2], dim=[0])
amax(i4[5])
amax(bf16[])
amax(f32[0, 2], dim=[0])
amax(f8e4m3[0])
amax(u8[0, 3], dim=[0], keepdim=true)
amax(f32[2], dim=[3]) ! "dim 3 is out of range"
amax(c64[2]) ! "a real dtype"
)"));

WEFT_DEFINE_OP(amin, OpSpec("amin(Tensor self, int[] dim=[], "
                            "bool keepdim=False) -> Tensor",
                            "The smallest element along the dims, all when "
                            "none are given; NaN if there is one. Of no "
                            "elements the largest value of the dtype. "
                            "ONNX: ReduceMin; ATen: aten::amin.")
                         .Traits(kReduction)
                         .Infer(InferReduction)
                         .Fold(FoldReduction)
                         .Eval(Eval<false>)
                         .Map(MapReduction)
                         .Samples(R"(
amin(f32[2, 3])
amin(f32[2, 3, 4], dim=[1])
amin(i64[2, 3, 4, 2], dim=[-1, 1], keepdim=true)
amin(f16[3]{1, nan, 2})
amin(u64[4])
amin(bool[2, 2], dim=[0])
amin(bf16[])
amin(f32[0, 2], dim=[0])
amin(f8e4m3[0])
amin(u64[0])
amin(f32[2], dim=[3]) ! "dim 3 is out of range"
amin(c64[2]) ! "a real dtype"
)"));

WEFT_SHARED_VIEW(DimsReduction, amax, amin);

}  // namespace weft::ops
