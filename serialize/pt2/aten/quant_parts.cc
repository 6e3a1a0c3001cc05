#include "serialize/pt2/aten/quant_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/quant.h"
#include "graph/ops/quant/scales.h"

namespace weft::pt2 {
namespace {

// Scales in f64 hold numbers that were computed in f32.
Value* ScaleOf(AtenCall& c, Value* scale, DType with, const Granularity& granularity) {
  const bool narrow = DTypeOf(scale) == DType::kF64 && with != DType::kF64;
  return Reshape(c, narrow ? Convert(c, scale, DType::kF32) : scale, granularity.scale_size);
}

bool Within(const QuantLimits& limits, DType dtype) {
  return limits.low >= IntMin(dtype) && limits.high <= IntMax(dtype);
}

// 1 / scale with sizes that broadcast to `x`; null where a block has several elements of a dim
// that has several blocks.
Value* FactorOf(AtenCall& c, const Value* x, Value* scale, const Granularity& granularity) {
  const auto is_group = [](int64_t b) { return b > 1; };
  const Ints& blocks = granularity.block_shape;
  if (granularity.block_size != 0 || std::any_of(blocks.begin(), blocks.end(), is_group)) {
    return nullptr;
  }
  Value* factor = c.Op(ops::reciprocal, {scale});
  if (DTypeOf(factor) == DType::kF64) factor = Convert(c, factor, DTypeOf(x));
  const bool along_axis = blocks.empty() && !granularity.scale_size.empty();
  return along_axis ? AlongDim(c, factor, static_cast<int>(granularity.axis), RankOf(x))
                    : Reshape(c, factor, granularity.scale_size);
}

// A zero point that holds no element stands for none.
Value* ZeroPoint(AtenCall& c, Value* zero, DType dtype, const Granularity& granularity) {
  if (zero == nullptr || zero->type().numel().Is(0)) return nullptr;
  return Reshape(c, Convert(c, zero, dtype), granularity.scale_size);
}

Value* Limited(AtenCall& c, Value* q) {
  const DType dtype = DTypeOf(q);
  const auto is_tensor = [&](const char* name) {
    return c.schema().Find(name) >= 0 && c.arg(name).is(Arg::Kind::kTensor);
  };
  if (is_tensor("quant_min") || is_tensor("quant_max")) {
    return ops::BuildClamp(c, q, Reshape(c, c.As("quant_min", dtype), {}),
                           Reshape(c, c.As("quant_max", dtype), {}));
  }
  const QuantLimits limits = QuantLimitsOf(c, dtype);
  if (!Within(limits, dtype)) {
    return c.Fail(absl::StrCat("the range from ", limits.low, " to ", limits.high,
                               " is not within that of ", DTypeName(dtype)));
  }
  if (limits.low == IntMin(dtype) && limits.high == IntMax(dtype)) return q;
  return ops::BuildClamp(c, q, Number(c, dtype, static_cast<double>(limits.low)),
                         Number(c, dtype, static_cast<double>(limits.high)));
}

}  // namespace

QuantLimits QuantLimitsOf(AtenCall& c, DType dtype) {
  const auto limit = [&](const char* name, int64_t otherwise) {
    if (c.schema().Find(name) < 0 || !c.Has(name)) return otherwise;
    return static_cast<int64_t>(c.Float(name));
  };
  return {limit("quant_min", IntMin(dtype)), limit("quant_max", IntMax(dtype))};
}

std::optional<DType> DTypeFor(const QuantLimits& limits, DType like) {
  for (DType dtype : {like, DType::kI8, DType::kU8, DType::kI16, DType::kU16}) {
    if (IsInt(dtype) && DTypeBits(dtype) <= 16 && Within(limits, dtype)) return dtype;
  }
  return std::nullopt;
}

Granularity WholeTensor() { return {}; }

Granularity AlongAxis(const Value* x, int axis) { return {axis, 0, {}, {DimOf(x, axis)}}; }

// The plainest form that says it: passes look for one scale and for one axis.
Granularity InBlocks(const Value* x, const Ints& blocks) {
  Granularity in_blocks = {1, 0, blocks, {}};
  int whole = 0;
  Ints single, grouped;  // Dims that are split into elements, and into larger blocks.
  for (int d = 0; d < RankOf(x); ++d) {
    const SymInt size = DimOf(x, d);
    in_blocks.scale_size.push_back(ops::BlockCount(size, blocks[d]));
    if (blocks[d] == -1 || size.Is(1)) {
      ++whole;
    } else {
      (blocks[d] == 1 ? single : grouped).push_back(d);
    }
  }
  if (single.empty() && grouped.empty()) return WholeTensor();
  const bool rest_whole = whole == RankOf(x) - 1;
  if (rest_whole && grouped.empty()) return AlongAxis(x, static_cast<int>(single[0]));
  const auto is_single = [&](int64_t b) { return b == 1; };
  const auto others = std::count_if(blocks.begin(), blocks.end(), is_single);
  if (grouped.size() != 1 || others != RankOf(x) - 1) return in_blocks;
  in_blocks.axis = grouped[0];
  in_blocks.block_size = blocks[grouped[0]];
  in_blocks.block_shape.clear();
  return in_blocks;
}

Ints RowBlocks(AtenCall& c, const Value* x) {
  if (RankOf(x) == 0) c.Fail("a scalar has no rows");
  Ints blocks(RankOf(x), 1);
  blocks.back() = -1;
  return blocks;
}

Ints BlocksOf(AtenCall& c, const Value* x) {
  const SymInts sizes = c.Syms("block_size");
  if (static_cast<int>(sizes.size()) != RankOf(x)) {
    c.Fail(absl::StrCat("block_size has ", sizes.size(), " sizes instead of ", RankOf(x)));
  }
  Ints blocks;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool whole = sizes[d] == DimOf(x, static_cast<int64_t>(d)) || sizes[d].Is(-1);
    if (!whole && (!sizes[d].is_constant() || sizes[d].value() < 1)) {
      c.Unsupported(absl::StrCat("block_size is ", sizes[d].ToString(), " in dim ", d,
                                 "; it must be a constant or the whole dim"));
    }
    blocks.push_back(sizes[d].Is(1) ? 1 : whole ? -1 : sizes[d].value());
  }
  return blocks;
}

Value* QuantizeLinear(AtenCall& c, Value* x, Value* scale, Value* zero, DType dtype,
                      const Granularity& granularity) {
  zero = ZeroPoint(c, zero, dtype, granularity);
  // Scales that are chosen from the numbers put the largest of them half a step beyond the last
  // integer, where a quotient rounds to another side than PyTorch's product by 1 / scale. Passes
  // look for scales in quantize_linear where those are constants and the numbers are not.
  const bool chosen = LiteralOf(scale) == nullptr || LiteralOf(x) != nullptr;
  if (Value* factor = chosen ? FactorOf(c, x, scale, granularity) : nullptr) {
    const DType product = PromoteTypes(DTypeOf(x), DTypeOf(factor));
    x = Mul(c, Convert(c, x, product), Convert(c, factor, product));
    scale = Full(c, granularity.scale_size, Number(c, product, 1));
  }
  scale = ScaleOf(c, scale, DTypeOf(x), granularity);
  scale = Convert(c, scale, PromoteTypes(DTypeOf(x), DTypeOf(scale)));
  return Limited(c, ops::BuildQuantizeLinear(c, x, scale, zero, dtype, granularity.axis,
                                             granularity.block_size, /*saturate=*/true,
                                             granularity.block_shape));
}

Value* DequantizeLinear(AtenCall& c, Value* q, Value* scale, Value* zero, DType dtype,
                        const Granularity& granularity) {
  scale = ScaleOf(c, scale, dtype, granularity);
  // One between two integers stays a float.
  const bool between = zero != nullptr && IsFloat(DTypeOf(zero)) && IsInt(DTypeOf(q));
  zero = ZeroPoint(c, zero, between ? DTypeOf(scale) : DTypeOf(q), granularity);
  return ops::BuildDequantizeLinear(c, q, scale, zero, dtype, granularity.axis,
                                    granularity.block_size, granularity.block_shape);
}

}  // namespace weft::pt2
