// Mean over windows.
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/pooling.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  return VerifyPooling(args);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> dims, PooledDims(args));
  return Types{args.type(0).WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const std::vector<double> x = Read<double>(c.in(0));
  std::vector<double> y(c.out(0).numel());
  const bool count_include_pad = c.attrs().Bool("count_include_pad");
  const int64_t in = PlaneSize(c.in(0));
  const int64_t out = PlaneSize(c.out(0));
  const int64_t planes = NumPlanes(c.in(0));
  ForEachWindow(c, [&](int64_t at, const Taps& taps) {
    const double count = count_include_pad ? static_cast<double>(taps.padded)
                                           : static_cast<double>(taps.inside.size());
    for (int64_t p = 0; p < planes; ++p) {
      double sum = 0;
      for (int64_t tap : taps.inside) sum += x[p * in + tap];
      y[p * out + at] = count == 0 ? 0 : sum / count;
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

SymInt Flops(const FlopsArgs& args) { return args.result_size() * WindowSize(args.attrs()); }

}  // namespace

WEFT_DEFINE_OP(avg_pool,
               OpSpec("avg_pool(Tensor self, int[] kernel_size, int[] stride, "
                      "int[] padding, int[] dilation, bool ceil_mode=False, "
                      "bool count_include_pad=False) -> Tensor",
                      "Means of windows, which stand as max_pool's. A mean is over the "
                      "elements inside the input, or with count_include_pad also over the "
                      "zeros of the padding, but never over what ceil_mode adds behind "
                      "it; the mean of none is 0. ATen: aten::avg_pool2d, which has no "
                      "dilation; ONNX: AveragePool-19.")
                   .Traits(kReduction)
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"no map of windows exists yet"})
                   .Flops(Flops)
                   .Samples(R"(
avg_pool(f32[2, 3, 6, 7], kernel_size=[2, 3], stride=[2, 1], padding=[0, 0, 0, 0], dilation=[1, 1])
avg_pool(f32[1, 2, 9], kernel_size=[3], stride=[2], padding=[1, 0], dilation=[1])
avg_pool(f32[1, 2, 9], kernel_size=[3], stride=[2], padding=[1, 2], dilation=[1], count_include_pad=true)
avg_pool(f32[1, 1, 6, 6], kernel_size=[3, 3], stride=[2, 2], padding=[0, 1, 1, 0], dilation=[1, 1], ceil_mode=true)
avg_pool(f32[1, 1, 6, 6], kernel_size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1], ceil_mode=true, count_include_pad=true)
avg_pool(f32[1, 1, 9], kernel_size=[3], stride=[2], padding=[2, 1], dilation=[2], ceil_mode=true, count_include_pad=true)
avg_pool(f32[1, 2, 4, 4, 4], kernel_size=[2, 2, 2], stride=[2, 1, 2], padding=[0, 0, 0, 0, 0, 0], dilation=[1, 2, 1])
avg_pool(f16[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
avg_pool(bf16[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
avg_pool(f32[0, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
avg_pool(i32[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1]) ! "a float dtype"
avg_pool(f32[1, 2, 5], kernel_size=[2], stride=[1, 1], padding=[0, 0], dilation=[1]) ! "stride must have 1 entries, got 2"
avg_pool(f32[1, 2, 5], kernel_size=[6], stride=[1], padding=[0, 0], dilation=[1]) ! "covers 6 of the 5 elements"
)"));

WEFT_SHARED_VIEW(Pool, avg_pool);

}  // namespace weft::ops
