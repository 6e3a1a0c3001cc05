// p-norm over windows.
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/nn/pooling.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  if (!(args.attrs().Float("p") > 0)) return Invalid("p must be positive");
  return VerifyPooling(args);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> dims, PooledDims(args));
  return Types{args.type(0).WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const double p = c.attrs().Float("p");
  std::vector<double> powers = Read<double>(c.in(0));
  for (double& v : powers) v = std::pow(std::abs(v), p);
  std::vector<double> y(c.out(0).numel());
  const int64_t in = PlaneSize(c.in(0));
  const int64_t out = PlaneSize(c.out(0));
  const int64_t planes = NumPlanes(c.in(0));
  ForEachWindow(c, [&](int64_t at, const Taps& taps) {
    for (int64_t plane = 0; plane < planes; ++plane) {
      double sum = 0;
      for (int64_t tap : taps.inside) sum += powers[plane * in + tap];
      y[plane * out + at] = std::pow(sum, 1 / p);
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

// A power for each element of the window, and the root.
SymInt Flops(const FlopsArgs& args) {
  return args.result_size() * (2 * WindowSize(args.attrs()) + 1);
}

}  // namespace

WEFT_DEFINE_OP(lp_pool, OpSpec("lp_pool(Tensor self, int[] kernel_size, int[] stride, "
                               "int[] padding, int[] dilation, bool ceil_mode=False, "
                               "float p=2) -> Tensor",
                               "(sum of |x|^p)^(1/p) of windows, which stand as max_pool's. "
                               "ONNX: LpPool-18.")
                            .Traits(kReduction)
                            .Verify(Verify)
                            .Infer(Infer)
                            .Eval(Eval)
                            .Map(Absent{"no map of windows exists yet"})
                            .Flops(Flops)
                            .Samples(R"(
lp_pool(f32[2, 3, 6, 7], kernel_size=[2, 3], stride=[2, 1], padding=[0, 0, 0, 0], dilation=[1, 1])
lp_pool(f32[1, 2, 9], kernel_size=[3], stride=[2], padding=[1, 0], dilation=[1], p=1)
lp_pool(f32[1, 2, 9], kernel_size=[3], stride=[2], padding=[0, 2], dilation=[2], ceil_mode=true, p=3)
lp_pool(f16[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1])
lp_pool(f32[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1], p=0) ! "p must be positive"
lp_pool(i32[1, 2, 5], kernel_size=[2], stride=[1], padding=[0, 0], dilation=[1]) ! "a float dtype"
)"));

WEFT_SHARED_VIEW(Pool, lp_pool);

}  // namespace weft::ops
