// Normalization by the neighbouring channels.
#include <algorithm>
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  const int64_t size = args.attrs().Int("size");
  if (size < 1) return Invalid("size must be positive, got ", size);
  return absl::OkStatus();
}

// The sum over channels is an average pooling over them, times the size.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const Type self = args.type(0);
  const int64_t size = attrs.Int("size");
  const SymInt plane = Product(self.dims().subspan(2));
  Value* x = Convert(b, args.operand(0), ComputeDType(self.dtype()));
  Value* squares = Reshape(b, b.Op(mul, {x, x}), {self.dim(0), SymInt(1), self.dim(1), plane});
  Value* means = b.Op(avg_pool, {squares},
                      {{"kernel_size", std::vector<int64_t>{size, 1}},
                       {"stride", std::vector<int64_t>{1, 1}},
                       {"padding", std::vector<int64_t>{(size - 1) / 2, 0, size / 2, 0}},
                       {"dilation", std::vector<int64_t>{1, 1}},
                       {"count_include_pad", true}});
  means = Reshape(b, means, DimsOf(self));
  Value* base = WithScalar(b, mul, means, attrs.Float("alpha"));
  base = WithScalar(b, add, base, attrs.Float("k"));
  Value* y = b.Op(div, {x, WithScalar(b, pow, base, attrs.Float("beta"))});
  return {Convert(b, y, self.dtype())};
}

absl::Status Eval(EvalContext& c) {
  const Attrs attrs = c.attrs();
  const int64_t size = attrs.Int("size");
  const double scale = attrs.Float("alpha") / static_cast<double>(size);
  const double beta = attrs.Float("beta");
  const double k = attrs.Float("k");
  const int64_t channels = c.in(0).dim(1);
  const int64_t plane = Numel(c.in(0).dims().subspan(2));
  const std::vector<double> x = Read<double>(c.in(0));
  std::vector<double> y(x.size());
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    const int64_t channel = i / plane % channels;
    const int64_t first = std::max<int64_t>(0, channel - (size - 1) / 2);
    const int64_t last = std::min(channels - 1, channel + size / 2);
    double sum = 0;
    for (int64_t j = first; j <= last; ++j) {
      const double v = x[i + (j - channel) * plane];
      sum += v * v;
    }
    y[i] = x[i] / std::pow(k + scale * sum, beta);
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

// A sum over `size` channels of squares; scale, add, power, divide.
SymInt Flops(const FlopsArgs& args) {
  return args.result_size() * (2 * args.attrs().Int("size") + 4);
}

}  // namespace

WEFT_DEFINE_OP(local_response_norm,
               OpSpec("local_response_norm(Tensor self, int size, float alpha=0.0001, "
                      "float beta=0.75, float k=1) -> Tensor",
                      "self / (k + alpha / size * s)^beta, where s sums the squares of "
                      "the channels from c - floor((size - 1) / 2) to "
                      "c + ceil((size - 1) / 2) of [N, C, ...]. ONNX: LRN-13; ATen's "
                      "aten::local_response_norm differs for even sizes.")
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(Flops)
                   .Samples(R"(
local_response_norm(f32[2, 7, 4, 5], size=3, alpha=0.5, beta=0.5, k=2)
local_response_norm(f32[2, 7, 4], size=4, alpha=0.5)
local_response_norm(f32[2, 3], size=9, alpha=0.5)
local_response_norm(f16[1, 5, 3], size=5)
local_response_norm(bf16[1, 5, 3], size=1, alpha=0.5)
local_response_norm(f32[0, 5, 3], size=3)
local_response_norm(f32[2, 7], size=0) ! "size must be positive"
local_response_norm(f32[7], size=3) ! "at least rank 2"
local_response_norm(i32[2, 7], size=3) ! "a float dtype"
)"));

}  // namespace weft::ops
