// Adds up overlapping blocks.
#include "graph/ops/nn/pooling.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status VerifyAttrs(const Attrs& attrs) {
  const size_t n = attrs.Syms("output_size").size();
  if (n < 1) return Invalid("output_size must not be empty");
  WEFT_RETURN_IF_ERROR(VerifyWindow(attrs, n));
  for (int64_t v : attrs.Ints("padding")) {
    if (v < 0) return Invalid("padding must not be negative, got ", v);
  }
  return absl::OkStatus();
}

// Positions of the block along each dim.
std::vector<SymInt> Blocks(const Attrs& attrs) {
  const auto size = attrs.Syms("output_size");
  const auto padding = attrs.Syms("padding");
  std::vector<SymInt> blocks;
  for (size_t i = 0; i < size.size(); ++i) {
    blocks.push_back(WindowedSize(size[i], attrs.Syms("kernel_size")[i], attrs.Syms("stride")[i],
                                  attrs.Syms("dilation")[i], padding[i], padding[size.size() + i]));
  }
  return blocks;
}

absl::Status Verify(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  WEFT_RETURN_IF_ERROR(CheckNumeric(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 3));
  WEFT_RETURN_IF_ERROR(VerifyAttrs(attrs));
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, attrs.Syms("output_size"), "output_size"));
  const SymInt block = Product(attrs.Syms("kernel_size"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, Mod(args.type(0).dim(1), block), 0,
                                       absl::StrCat("dim 1 modulo blocks of ", block.ToString())));
  return CheckEqualSizes(args, args.type(0).dim(2), Product(Blocks(attrs)),
                         "dim 2 and the number of blocks");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  std::vector<SymInt> dims = {args.type(0).dim(0),
                              FloorDiv(args.type(0).dim(1), Product(attrs.Syms("kernel_size")))};
  const auto size = attrs.Syms("output_size");
  dims.insert(dims.end(), size.begin(), size.end());
  return Types{args.type(0).WithDims(dims)};
}

// For each element of a plane's blocks, by (element of the block, block), its position in a plane
// of the image; -1 for padding.
std::vector<int64_t> Targets(const EvalContext& c) {
  const Attrs attrs = c.attrs();
  const std::vector<int64_t> kernel = attrs.Ints("kernel_size");
  const std::vector<int64_t> stride = attrs.Ints("stride");
  const std::vector<int64_t> padding = attrs.Ints("padding");
  const std::vector<int64_t> dilation = attrs.Ints("dilation");
  const std::vector<int64_t> size = attrs.Ints("output_size");
  const std::vector<int64_t> strides = ContiguousStrides(size);
  const std::vector<int64_t> blocks = *AllConstant(Blocks(attrs));
  std::vector<int64_t> targets;
  ForEachIndex(kernel, [&](absl::Span<const int64_t> tap) {
    ForEachIndex(blocks, [&](absl::Span<const int64_t> block) {
      int64_t target = 0;
      for (size_t d = 0; d < size.size() && target >= 0; ++d) {
        const int64_t at = block[d] * stride[d] - padding[d] + tap[d] * dilation[d];
        target = at < 0 || at >= size[d] ? -1 : target + at * strides[d];
      }
      targets.push_back(target);
    });
  });
  return targets;
}

absl::Status Eval(EvalContext& c) {
  if (c.in(0).numel() == 0) return absl::OkStatus();
  const std::vector<int64_t> targets = Targets(c);
  const int64_t from = static_cast<int64_t>(targets.size());
  const int64_t to = Numel(c.out(0).dims().subspan(2));
  return VisitDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Read<T>(c.in(0));
    std::vector<T> y(c.out(0).numel(), T{0});
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
      if (targets[i % from] < 0) continue;
      T& sum = y[i / from * to + targets[i % from]];
      sum = WrapAdd(sum, x[i]);
    }
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

}  // namespace

WEFT_DEFINE_OP(col2im, OpSpec("col2im(Tensor self, SymInt[] output_size, int[] kernel_size, "
                              "int[] dilation, int[] padding, int[] stride) -> Tensor",
                              "Adds the blocks of self [N, C * block elements, blocks] at their "
                              "places in an image [N, C, output_size...]; they stand as the "
                              "windows of a convolution. `padding` has all begins, then all ends. "
                              "ATen: aten::col2im, which pads evenly; ONNX: Col2Im-18.")
                           .Verify(Verify)
                           .Infer(Infer)
                           .Eval(Eval)
                           .Map(Absent{"several elements may be written to one place"})
                           .Flops(PerOperand{1})
                           .Samples(R"(
col2im(f32[2, 12, 4], output_size=[3, 4], kernel_size=[2, 3], dilation=[1, 1], padding=[0, 0, 0, 0], stride=[1, 1])
col2im(f32[1, 4, 12], output_size=[5, 5], kernel_size=[2, 2], dilation=[2, 1], padding=[1, 0, 0, 1], stride=[1, 2])
col2im(f16[1, 2, 4], output_size=[5], kernel_size=[2], dilation=[1], padding=[0, 0], stride=[1])
col2im(i32[1, 8, 1], output_size=[2, 2, 2], kernel_size=[2, 2, 2], dilation=[1, 1, 1], padding=[0, 0, 0, 0, 0, 0], stride=[1, 1, 1])
col2im(f32[1, 3, 4], output_size=[5], kernel_size=[2], dilation=[1], padding=[0, 0], stride=[1]) ! "dim 1 modulo blocks of 2: 1 and 0 differ"
col2im(f32[1, 2, 5], output_size=[5], kernel_size=[2], dilation=[1], padding=[0, 0], stride=[1]) ! "the number of blocks: 5 and 4 differ"
col2im(f32[1, 2, 4], output_size=[5], kernel_size=[2, 1], dilation=[1], padding=[0, 0], stride=[1]) ! "kernel_size must have 1 entries, got 2"
col2im(f32[1, 2, 4], output_size=[5], kernel_size=[2], dilation=[1], padding=[0], stride=[1]) ! "padding must have 2 entries"
col2im(f32[1, 2, 4], output_size=[5], kernel_size=[2], dilation=[0], padding=[0, 0], stride=[1]) ! "dilation must be at least 1"
col2im(f32[2, 4], output_size=[5], kernel_size=[2], dilation=[1], padding=[0, 0], stride=[1]) ! "self must have rank 3"
col2im(bool[1, 2, 4], output_size=[5], kernel_size=[2], dilation=[1], padding=[0, 0], stride=[1]) ! "integer or float"
)"));

}  // namespace weft::ops
