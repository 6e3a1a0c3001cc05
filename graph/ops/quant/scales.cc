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

bool IsOne(Type scale) { return scale.rank() == 0 || scale.numel().Is(1); }

absl::Status CheckBlocks(const OpArgs& args, const std::vector<int64_t>& blocks) {
  const Type self = args.type(0);
  const Type scale = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, self.rank()));
  for (int d = 0; d < self.rank(); ++d) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, scale.dim(d), BlockCount(self.dim(d), blocks[d]),
                                         absl::StrCat("scale in dim ", d)));
  }
  return absl::OkStatus();
}

// Each scale, repeated as often as its block has elements; a cut block has fewer.
Value* RepeatBlocks(Builder& b, Type self, Type scale, const std::vector<int64_t>& blocks,
                    Value* v) {
  std::vector<SymInt> apart, repeated, joined;
  for (int d = 0; d < self.rank(); ++d) {
    const bool repeats = blocks[d] > 1;
    joined.push_back(repeats ? scale.dim(d) * blocks[d] : scale.dim(d));
    apart.push_back(scale.dim(d));
    repeated.push_back(scale.dim(d));
    if (!repeats) continue;
    apart.push_back(1);
    repeated.push_back(blocks[d]);
  }
  v = Reshape(b, v, apart);
  v = Expand(b, v, repeated);
  v = Reshape(b, v, joined);
  for (int d = 0; d < self.rank(); ++d) {
    if (blocks[d] > 1 && joined[d] != self.dim(d)) v = Slice(b, v, d, 0, self.dim(d));
  }
  return v;
}

}  // namespace

std::vector<int64_t> BlocksOf(const Attrs& attrs, int rank) {
  std::vector<int64_t> blocks = attrs.Ints("block_shape");
  const int64_t block_size = attrs.Int("block_size");
  if (block_size == 0) return blocks;
  blocks.assign(rank, 1);
  blocks[*NormalizeDim(attrs.Int("axis"), rank)] = block_size;
  return blocks;
}

absl::Status VerifyBlocks(const Attrs& attrs, int rank) {
  const int64_t block_size = attrs.Int("block_size");
  if (block_size < 0) return Invalid("block_size is negative: ", block_size);
  const std::vector<int64_t> shape = attrs.Ints("block_shape");
  if (shape.empty()) return absl::OkStatus();
  if (block_size != 0) return Invalid("block_size and block_shape exclude each other");
  if (static_cast<int>(shape.size()) != rank) {
    return Invalid("block_shape must have ", rank, " sizes, got ", shape.size());
  }
  for (int64_t size : shape) {
    if (size < 1 && size != -1) {
      return Invalid("sizes of block_shape must be positive or -1, got ", size);
    }
  }
  return absl::OkStatus();
}

SymInt BlockCount(SymInt size, int64_t block) {
  if (block == -1) return 1;
  return block == 1 ? size : CeilDiv(size, block);
}

bool IsQuantizedDType(DType dtype) {
  if (dtype == DType::kBool || dtype == DType::kF8E8M0) return false;
  return IsInt(dtype) ? DTypeBits(dtype) <= 32 : IsFloat(dtype) && DTypeBits(dtype) <= 8;
}

absl::Status VerifyScales(const OpArgs& args, DType zero_point) {
  const Type self = args.type(0);
  const Type scale = args.type(1);
  if (scale.dtype() != DType::kF8E8M0) WEFT_RETURN_IF_ERROR(CheckFloat(args, 1));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 2, zero_point));
  if (args.has(2)) {
    WEFT_RETURN_IF_ERROR(CheckRank(args, 2, scale.rank()));
    for (int d = 0; d < scale.rank(); ++d) {
      WEFT_RETURN_IF_ERROR(
          CheckEqualSizes(args, scale.dim(d), args.type(2).dim(d), "scale and zero_point"));
    }
  }
  const Attrs attrs = args.attrs();
  WEFT_RETURN_IF_ERROR(VerifyBlocks(attrs, self.rank()));
  const bool blocks = attrs.Int("block_size") != 0 || !attrs.Ints("block_shape").empty();
  if (!blocks && IsOne(scale)) return absl::OkStatus();
  // The axis says nothing where block_shape says all.
  if (!attrs.Ints("block_shape").empty()) return CheckBlocks(args, BlocksOf(attrs, self.rank()));
  WEFT_ASSIGN_OR_RETURN(const int axis, NormalizeDim(attrs.Int("axis"), self.rank()));
  if (blocks) return CheckBlocks(args, BlocksOf(attrs, self.rank()));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 1));
  return CheckEqualSizes(args, scale.dim(0), self.dim(axis), absl::StrCat("scale and dim ", axis));
}

Value* BroadcastScale(Builder& b, const OpArgs& args, Value* v) {
  const Type self = args.type(0);
  const Type scale = args.type(1);
  const std::vector<int64_t> blocks = BlocksOf(args.attrs(), self.rank());
  if (!blocks.empty()) return RepeatBlocks(b, self, scale, blocks, v);
  if (IsOne(scale)) return Reshape(b, v, {});
  const int axis = *NormalizeDim(args.attrs().Int("axis"), self.rank());
  std::vector<SymInt> size(self.rank() - axis, SymInt(1));
  size[0] = scale.dim(0);
  return Reshape(b, v, size);
}

ScaleIndex::ScaleIndex(const EvalContext& c) {
  const HostTensor& self = c.in(0);
  const HostTensor& scale = c.in(1);
  const auto inner = [&](int d) { return Numel(self.dims().subspan(d + 1)); };
  const std::vector<int64_t> blocks = BlocksOf(c.attrs(), self.rank());
  const std::vector<int64_t> strides = ContiguousStrides(scale.dims());
  for (size_t d = 0; d < blocks.size(); ++d) {
    if (blocks[d] == -1) continue;
    dims_.push_back({inner(d), self.dim(d), blocks[d], strides[d]});
  }
  if (!blocks.empty() || IsOne(scale.type())) return;
  const int axis = *NormalizeDim(c.attrs().Int("axis"), self.rank());
  dims_.push_back({inner(axis), self.dim(axis), 1, 1});
}

}  // namespace weft::ops
