#include "graph/ops/quant/scales.h"

#include "graph/ir/builder.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

enum class Layout { kTensor, kAxis, kBlocks };

Layout LayoutOf(Type scale, int64_t block_size) {
  if (block_size > 0) return Layout::kBlocks;
  if (scale.rank() == 0 || scale.numel().Is(1)) return Layout::kTensor;
  return Layout::kAxis;
}

absl::Status CheckBlocks(const OpArgs& args, int axis, int64_t block_size) {
  const Type self = args.type(0);
  const Type scale = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, self.rank()));
  for (int d = 0; d < self.rank(); ++d) {
    const SymInt want = d == axis ? CeilDiv(self.dim(d), block_size) : self.dim(d);
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, scale.dim(d), want, absl::StrCat("scale in dim ", d)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyScales(const OpArgs& args, DType quantized) {
  const Type self = args.type(0);
  const Type scale = args.type(1);
  const int64_t block_size = args.attrs().Int("block_size");
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 1));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 2, quantized));
  if (args.has(2)) {
    WEFT_RETURN_IF_ERROR(CheckRank(args, 2, scale.rank()));
    for (int d = 0; d < scale.rank(); ++d) {
      WEFT_RETURN_IF_ERROR(
          CheckEqualSizes(args, scale.dim(d), args.type(2).dim(d), "scale and zero_point"));
    }
  }
  if (block_size < 0) return Invalid("block_size is negative: ", block_size);
  const Layout layout = LayoutOf(scale, block_size);
  if (layout == Layout::kTensor) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const int axis, NormalizeDim(args.attrs().Int("axis"), self.rank()));
  if (layout == Layout::kBlocks) return CheckBlocks(args, axis, block_size);
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 1));
  return CheckEqualSizes(args, scale.dim(0), self.dim(axis), absl::StrCat("scale and dim ", axis));
}

Value* BroadcastScale(Builder& b, const OpArgs& args, Value* v) {
  const Type self = args.type(0);
  const Type scale = args.type(1);
  const int64_t block_size = args.attrs().Int("block_size");
  const Layout layout = LayoutOf(scale, block_size);
  if (layout == Layout::kTensor) return Reshape(b, v, {});
  const int axis = *NormalizeDim(args.attrs().Int("axis"), self.rank());
  if (layout == Layout::kAxis) {
    std::vector<SymInt> size(self.rank() - axis, SymInt(1));
    size[0] = scale.dim(0);
    return Reshape(b, v, size);
  }
  // Each scale, repeated block_size times; the last block may be cut.
  std::vector<SymInt> size = DimsOf(scale);
  size.insert(size.begin() + axis + 1, SymInt(1));
  v = Reshape(b, v, size);
  size[axis + 1] = block_size;
  v = Expand(b, v, size);
  size.erase(size.begin() + axis + 1);
  size[axis] = size[axis] * block_size;
  v = Reshape(b, v, size);
  if (size[axis] == self.dim(axis)) return v;
  return Slice(b, v, axis, 0, self.dim(axis));
}

ScaleIndex::ScaleIndex(const EvalContext& c) {
  const Attrs attrs = c.attrs();
  const HostTensor& self = c.in(0);
  const Layout layout = LayoutOf(c.in(1).type(), attrs.Int("block_size"));
  if (layout == Layout::kTensor) {
    spread_ = 0;
    return;
  }
  const int axis = *NormalizeDim(attrs.Int("axis"), self.rank());
  size_ = self.dim(axis);
  inner_ = Numel(self.dims().subspan(axis + 1));
  if (layout == Layout::kAxis) return;
  block_ = attrs.Int("block_size");
  blocks_ = c.in(1).dim(axis);
  spread_ = inner_;
}

double RoundTo(DType dtype, double v) {
  if (dtype == DType::kF64) return v;
  if (dtype == DType::kF32) return static_cast<float>(v);
  return DecodeFloat(dtype, EncodeFloat(dtype, v));
}

}  // namespace weft::ops
