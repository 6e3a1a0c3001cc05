// Maximum over windows.
#include <limits>

#include "graph/ir/op_flops.h"
#include "graph/ops/nn/pooling.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckNumeric(args, 0));
  return VerifyPooling(args);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> dims, PooledDims(args));
  return Types{args.type(0).WithDims(dims), Type::Tensor(DType::kI64, dims)};
}

// The result of a window that lies entirely in the padding.
template <typename T>
T Lowest(DType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    return -std::numeric_limits<double>::infinity();
  } else {
    return static_cast<T>(IntMin(dtype));
  }
}

absl::Status Eval(EvalContext& c) {
  return VisitDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Read<T>(c.in(0));
    std::vector<T> values(c.out(0).numel());
    std::vector<int64_t> indices(values.size());
    const int64_t in = PlaneSize(c.in(0));
    const int64_t out = PlaneSize(c.out(0));
    const int64_t planes = NumPlanes(c.in(0));
    ForEachWindow(c, [&](int64_t at, const Taps& taps) {
      for (int64_t p = 0; p < planes; ++p) {
        T best = Lowest<T>(c.in(0).dtype());
        int64_t index = taps.inside.empty() ? 0 : taps.inside[0];
        for (int64_t tap : taps.inside) {
          const T v = x[p * in + tap];
          if (v > best || (IsNan(v) && !IsNan(best))) {
            best = v;
            index = tap;
          }
        }
        values[p * out + at] = best;
        indices[p * out + at] = index;
      }
    });
    Write(values, &c.out(0));
    Write(indices, &c.out(1));
    return absl::OkStatus();
  });
}

SymInt Flops(const FlopsArgs& args) { return args.result_size() * WindowSize(args.attrs()); }

}  // namespace

WEFT_DEFINE_OP(max_pool,
               OpSpec("max_pool(Tensor self, int[] kernel_size, int[] stride, "
                      "int[] padding, int[] dilation, bool ceil_mode=False) -> "
                      "(Tensor values, Tensor indices)",
                      "Maxima of windows over the spatial dims of [N, C, spatial...], and "
                      "where in its plane the first of each lies. A NaN is the maximum. "
                      "`padding` holds all begins, then all ends. With ceil_mode the "
                      "number of windows rounds up, but each starts inside the input or "
                      "the padding before it. ATen: aten::max_pool2d_with_indices; ONNX: "
                      "MaxPool-12, whose indices count from the start of the tensor.")
                   .Traits(kReduction)
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"no map of windows exists yet"})
                   .Flops(Flops)
                   .Samples(R"(
max_pool(f32[2, 3, 6, 7], kernel_size=[2, 3], stride=[2, 1], padding=[0, 0, 0, 0], dilation=[1, 1])
max_pool(f32[1, 2, 9], kernel_size=[3], stride=[2], padding=[1, 0], dilation=[1])
max_pool(f32[1, 2, 9], kernel_size=[3], stride=[2], padding=[0, 2], dilation=[2], ceil_mode=true)
max_pool(f32[1, 1, 5, 5], kernel_size=[2, 2], stride=[3, 2], padding=[1, 0, 0, 1], dilation=[1, 1], ceil_mode=true)
max_pool(f32[1, 2, 4, 4, 4], kernel_size=[2, 2, 2], stride=[2, 1, 2], padding=[0, 0, 0, 0, 0, 0], dilation=[1, 2, 1])
max_pool(f32[1, 1, 5]{1, 3, 3, 2, 0}, kernel_size=[3], stride=[1], padding=[0, 0], dilation=[1])
max_pool(f16[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
max_pool(bf16[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
max_pool(u8[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
max_pool(i8[1, 2, 5]{-9..9}, kernel_size=[2], stride=[1], padding=[1, 0], dilation=[1])
max_pool(f32[0, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
max_pool(f32[1, 2, 5], kernel_size=[2, 2], stride=[1], padding=[0, 0], dilation=[1]) ! "kernel_size must have 1 entries, got 2"
max_pool(f32[1, 2, 5], kernel_size=[2], stride=[0], padding=[0, 0], dilation=[1]) ! "stride must be at least 1"
max_pool(f32[1, 2, 5], kernel_size=[2], stride=[1], padding=[0], dilation=[1]) ! "padding must have 2 entries, got 1"
max_pool(f32[1, 2, 5], kernel_size=[2], stride=[1], padding=[2, 0], dilation=[1]) ! "padding must be 0 to 1 here, got 2"
max_pool(f32[1, 2, 5], kernel_size=[6], stride=[1], padding=[0, 0], dilation=[1]) ! "covers 6 of the 5 elements"
max_pool(bool[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1]) ! "integer or float"
max_pool(f32[2, 5], kernel_size=[], stride=[], padding=[], dilation=[]) ! "at least rank 3"
)"));

WEFT_SHARED_VIEW(Pool, max_pool);

}  // namespace weft::ops
