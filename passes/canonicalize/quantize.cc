// Quantization with one scale for a tensor. Exporters that quantize every tensor put a pair of ops
// behind each move of data.
#include <cmath>
#include <cstring>

#include "graph/ir/node.h"
#include "graph/ops/index.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

bool IsOne(const Value* value) {
  const Type type = value->type();
  return type.rank() == 0 || (type.rank() == 1 && type.dim(0).Is(1));
}

// One scale, and one zero point or none.
template <typename View>
bool HasOneScale(const View& view) {
  return IsOne(view.scale()) && (view.zero_point() == nullptr || IsOne(view.zero_point())) &&
         view.block_size() == 0 && view.block_shape().empty();
}

// The same value, or constants of one element with the same bits.
bool AreEqual(const Value* a, const Value* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const HostTensor* one = LiteralOf(a);
  const HostTensor* other = LiteralOf(b);
  if (one == nullptr || other == nullptr || one->numel() != 1 || other->numel() != 1) return false;
  return one->dtype() == other->dtype() && one->ReadDoubles() == other->ReadDoubles();
}

// Scales by which a product, divided again, stays within less than half of the integer.
bool IsPlainScale(const Value* scale) {
  const HostTensor* literal = LiteralOf(scale);
  if (literal == nullptr || literal->dtype() != DType::kF32) return false;
  const double value = literal->ReadDoubles()[0];
  return value >= 0x1p-60 && value <= 0x1p60;
}

bool GivesBackX(const Node& root, Match& m) {
  const ops::QuantizeLinearView quantize(root);
  const ops::DequantizeLinearView dequantize(m.node(y));
  const DType dtype = DTypeOf(m[x]);
  return IsInt(dtype) && DTypeBits(dtype) <= 16 && dtype == DTypeOf(root.result()) &&
         DTypeOf(m[y]) == DType::kF32 && HasOneScale(quantize) && HasOneScale(dequantize) &&
         IsPlainScale(quantize.scale()) && AreEqual(quantize.scale(), dequantize.scale()) &&
         AreEqual(quantize.zero_point(), dequantize.zero_point()) &&
         (quantize.zero_point() == nullptr || DTypeOf(quantize.zero_point()) == dtype);
}

// The steps of x, c s / t of those of the result, differ by less than a quarter of one over the
// whole range of 8 bits: each integer is rounded to itself, however f32 rounds on the way.
bool ScalesBackX(const Node& root, Match& m) {
  const ops::QuantizeLinearView quantize(root);
  const ops::DequantizeLinearView dequantize(m.node(y));
  constexpr double kRange = 255;
  if (DTypeBits(DTypeOf(m[x])) != 8 || !IsInt(DTypeOf(m[x])) || DTypeOf(m[y]) != DType::kF32 ||
      !HasOneScale(quantize) || !HasOneScale(dequantize) || !IsOne(m[c]) ||
      !IsPlainScale(quantize.scale()) || !IsPlainScale(dequantize.scale()) || !IsPlainScale(m[c]) ||
      !AreEqual(quantize.zero_point(), dequantize.zero_point())) {
    return false;
  }
  const auto number = [](const Value* value) { return LiteralOf(value)->ReadDoubles()[0]; };
  const double ratio = number(m[c]) * number(dequantize.scale()) / number(quantize.scale());
  return std::abs(ratio - 1) * kRange < 0.25;
}

bool QuantizesWithOneScale(const Node& root, Match&) {
  return HasOneScale(ops::QuantizeLinearView(root));
}
constexpr Guard kOneScale = {"there is one scale", QuantizesWithOneScale};

Value* QuantizedX(const Match& m, Rewriter& rewriter) {
  const ops::QuantizeLinearView root(*m.root);
  return ops::BuildQuantizeLinear(rewriter, m[x], root.scale(), root.zero_point(), root.dtype(),
                                  /*axis=*/0, /*block_size=*/0, root.saturate());
}
Value* BuildPermutedNarrow(const Match& m, Rewriter& rewriter) {
  return rewriter.CreateOne(ops::permute, {QuantizedX(m, rewriter)}, m.node(y).attr_list());
}
Value* BuildReshapedNarrow(const Match& m, Rewriter& rewriter) {
  return ops::BuildReshape(rewriter, QuantizedX(m, rewriter), m.root->result()->type().dims());
}

bool DequantizesWithOneScale(const Node&, Match& m) {
  return HasOneScale(ops::DequantizeLinearView(m.node(y)));
}
Value* BuildSelectedNarrow(const Match& m, Rewriter& rewriter) {
  const ops::DequantizeLinearView dequantize(m.node(y));
  Value* selected =
      rewriter.CreateOne(ops::index_select, {m[x], m.root->operand(1)}, m.root->attr_list());
  return ops::BuildDequantizeLinear(rewriter, selected, dequantize.scale(), dequantize.zero_point(),
                                    dequantize.dtype(), /*axis=*/0);
}

constexpr Rule kRules[] = {
    {"quantize-dequantize",
     "quantize(dequantize(x, s, z), s, z) = x",
     kBitExact,
     Op(ops::quantize_linear, Op(ops::dequantize_linear, x, Rest()).As(y), Rest()),
     {{"both have one scale and zero point, and x their dtype", GivesBackX}},
     x},
    {"quantize-scaled-dequantize",
     "quantize(c dequantize(x, s, z), t, z) = x where c s / t is almost 1",
     kBitExact,
     Op(ops::quantize_linear,
        Op(ops::mul, Op(ops::dequantize_linear, x, Rest()).As(y), Constant(c)), Rest()),
     {kKeepsType, {"c scales back x", ScalesBackX}},
     x},
    {"quantize-permute",
     "quantize(permute(x)) = permute(quantize(x)) with one scale",
     kBitExact,
     Op(ops::quantize_linear, Op(ops::permute, x).OneUse().As(y), Rest()),
     {kOneScale},
     BuildPermutedNarrow},
    {"quantize-reshape",
     "quantize(reshape(x)) = reshape(quantize(x)) with one scale",
     kBitExact,
     Op(ops::quantize_linear, Op(ops::reshape, x).OneUse().As(y), Rest()),
     {kOneScale},
     BuildReshapedNarrow},
    {"select-dequantize",
     "index_select(dequantize(x)) = dequantize(index_select(x)) of a constant, with one scale",
     kBitExact,
     Op(ops::index_select, Op(ops::dequantize_linear, Constant(x), Rest()).OneUse().As(y), Rest()),
     {{"there is one scale", DequantizesWithOneScale}},
     BuildSelectedNarrow},
};

}  // namespace

absl::Span<const Rule> QuantizeRules() { return kRules; }

}  // namespace weft::canonicalize
