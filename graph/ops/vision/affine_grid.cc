// The grid of an affine map, for grid_sampler.
#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Type theta = args.type(0);
  const auto size = args.attrs().Syms("size");
  const int n = static_cast<int>(size.size()) - 2;
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 3));
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, size, "size"));
  if (n < 1) return Invalid("size must have at least 3 entries");
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, theta.dim(0), size[0], "the batches of theta and size"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, theta.dim(1), n, "the rows of theta"));
  return CheckEqualSizes(args, theta.dim(2), n + 1, "the columns of theta");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const auto size = args.attrs().Syms("size");
  std::vector<SymInt> dims = {size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(static_cast<int64_t>(size.size()) - 2);
  return Types{args.type(0).WithDims(dims)};
}

// Positions of `n` elements in [-1, 1], in f32 or f64.
Value* Positions(Builder& b, SymInt n, bool align_corners, DType dtype) {
  Value* twice = b.Op(arange, {}, {{"start", 1 - n}, {"end", n + 1}, {"step", 2}});
  const SymInt divisor = align_corners ? Max(n - 1, 1) : n;
  Value* length =
      b.Op(sym_constant, {},
           {{"values", std::vector<SymInt>{divisor}}, {"size", std::vector<int64_t>{}}});
  return b.Op(div, {Convert(b, twice, dtype), Convert(b, length, dtype)});
}

// The sum of position times column over coordinates, the innermost first.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const auto size = args.attrs().Syms("size");
  const int n = static_cast<int>(size.size()) - 2;
  const DType dtype = args.type(0).dtype();
  const DType wide = ComputeDType(dtype);
  Value* theta = Convert(b, args.operand(0), wide);
  // [N, 1..., n]
  std::vector<SymInt> column_dims(n + 2, SymInt(1));
  column_dims.front() = size[0];
  column_dims.back() = n;
  const auto column = [&](int64_t j) {
    return Reshape(b, Slice(b, theta, 2, j, j + 1), column_dims);
  };
  Value* y = column(n);
  for (int j = 0; j < n; ++j) {
    // The position along spatial dim n - 1 - j, then 1s for the dims after it.
    std::vector<SymInt> dims(j + 2, SymInt(1));
    dims[0] = size[2 + n - 1 - j];
    Value* at = Positions(b, dims[0], args.attrs().Bool("align_corners"), wide);
    y = b.Op(add, {y, b.Op(mul, {column(j), Reshape(b, at, dims)})});
  }
  return {Convert(b, Expand(b, y, DimsOf(Infer(args)->front())), dtype)};
}

absl::Status Eval(EvalContext& c) {
  const std::vector<double> theta = Read<double>(c.in(0));
  const bool align_corners = c.attrs().Bool("align_corners");
  const auto dims = c.out(0).dims();
  const int n = c.out(0).rank() - 2;
  std::vector<double> y;
  y.reserve(c.out(0).numel());
  ForEachIndex(dims, [&](absl::Span<const int64_t> index) {
    const double* row = &theta[(index[0] * n + index[n + 1]) * (n + 1)];
    double v = row[n];
    for (int j = 0; j < n; ++j) {
      const int64_t size = dims[n - j];
      const int64_t twice = 2 * index[n - j] - (size - 1);
      const int64_t divisor = align_corners ? std::max<int64_t>(size - 1, 1) : size;
      v += row[j] * (static_cast<double>(twice) / static_cast<double>(divisor));
    }
    y.push_back(v);
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

// The coordinates of a point are a product of n x (n + 1) with n + 1.
SymInt Flops(const FlopsArgs& args) {
  return 2 * args.result_size() * (args.results[0].dims().back() + 1);
}

}  // namespace

WEFT_DEFINE_OP(affine_grid,
               OpSpec("affine_grid(Tensor theta, SymInt[] size, "
                      "bool align_corners=False) -> Tensor",
                      "The positions theta [N, n, n + 1] times (x, y, ..., 1) for every "
                      "element of an image of `size` [N, C, spatial...], as grid_sampler "
                      "takes them: [N, spatial..., n]. With align_corners a dim of size "
                      "1 is at 0. ATen: aten::affine_grid_generator; ONNX: AffineGrid-20.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(Flops)
                   .Samples(R"(
affine_grid(f32[2, 2, 3], size=[2, 3, 4, 5])
affine_grid(f32[2, 2, 3], size=[2, 3, 4, 5], align_corners=true)
affine_grid(f32[1, 2, 3], size=[1, 3, 1, 5], align_corners=true)
affine_grid(f64[1, 3, 4], size=[1, 3, 2, 3, 4])
affine_grid(f16[1, 1, 2], size=[1, 1, 4])
affine_grid(bf16[1, 2, 3], size=[1, 1, 4, 3])
affine_grid(f32[1, 2, 3], size=[1, 1, 0, 3])
affine_grid(f32[1, 2, 3], size=[2, 3, 4, 5]) ! "the batches of theta and size: 1 and 2 differ"
affine_grid(f32[2, 2, 3], size=[2, 3, 4, 5, 6]) ! "the rows of theta: 2 and 3 differ"
affine_grid(f32[2, 2, 4], size=[2, 3, 4, 5]) ! "the columns of theta: 4 and 3 differ"
affine_grid(f32[2, 0, 1], size=[2, 3]) ! "at least 3 entries"
affine_grid(f32[2, 3], size=[2, 3, 4, 5]) ! "theta must have rank 3"
affine_grid(i32[2, 2, 3], size=[2, 3, 4, 5]) ! "a float dtype"
)"));

}  // namespace weft::ops
