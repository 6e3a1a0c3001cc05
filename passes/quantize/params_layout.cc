#include "passes/quantize/params_layout.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/quantize/float_grid.h"

namespace weft {
namespace {

bool HasWholeRange(const QuantSpec& spec) {
  return !IsInt(spec.dtype) ||
         (spec.quant_min <= IntMin(spec.dtype) && spec.quant_max >= IntMax(spec.dtype));
}

// Layouts of values that are known to have them.
ScaleLayout LayoutFor(const QuantSpec& spec, const Value* value) {
  const auto layout = LayoutOfScales(spec, value->type().rank());
  return layout.ok() ? *layout : ScaleLayout();
}

// The integers that the spec allows, where these are fewer than those of its dtype.
struct NarrowRange {
  std::optional<int64_t> low, high;
};

NarrowRange NarrowRangeOf(const QuantSpec& spec) {
  if (HasWholeRange(spec)) return {};
  return {spec.quant_min, spec.quant_max};
}

// The power of two that PowerOfTwoScale gives: the exponent of the raised scale.
Value* BuildPowersOfTwo(Builder& b, const QuantSpec& spec, Value* scale) {
  constexpr int64_t kExponent = 0x7f800000;
  Value* ratio = b.Constant(HostTensor::Scalar(DType::kF32, PowerOfTwoRatio(spec)));
  Value* raised = ops::BuildMul(b, ops::BuildConvert(b, scale, DType::kF32), ratio);
  Value* mask = b.Constant(HostTensor::ScalarInt(DType::kI32, kExponent));
  Value* bits = ops::BuildBitwiseAnd(b, ops::BuildBitcast(b, raised, DType::kI32), mask);
  return ops::BuildConvert(b, ops::BuildBitcast(b, bits, DType::kF32), DType::kF8E8M0);
}

ScaleOperands BuildChosenScales(Builder& b, const QuantSpec& spec, Value* value,
                                std::optional<int64_t> axis, const ScaleLayout& layout) {
  const NarrowRange range = NarrowRangeOf(spec);
  const char* scheme = spec.scheme == QuantScheme::kSymmetric ? "symmetric" : "affine";
  const std::vector<Value*> made =
      ops::BuildChooseQparams(b, value, spec.dtype, range.low, range.high, scheme, spec.eps, axis,
                              layout.block_size, layout.block_shape);
  if (made.size() < 2) return {};
  if (spec.scale_dtype != DType::kF8E8M0) return {made[0], made[1]};
  return {BuildPowersOfTwo(b, spec, made[0]), made[1]};
}

}  // namespace

absl::StatusOr<ScaleLayout> LayoutOfScales(const QuantSpec& spec, int rank) {
  ScaleLayout layout;
  if (spec.granularity == QuantGranularity::kTensor) return layout;
  if (spec.granularity == QuantGranularity::kToken) {
    if (rank == 0) return absl::InvalidArgumentError("a scalar has no rows");
    layout.block_shape.assign(rank, 1);
    layout.block_shape.back() = -1;
    return layout;
  }
  layout.axis = spec.axis < 0 ? spec.axis + rank : spec.axis;
  if (layout.axis < 0 || layout.axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", spec.axis, " of the spec is out of range for rank ", rank));
  }
  if (spec.granularity == QuantGranularity::kBlock) layout.block_size = spec.block;
  return layout;
}

absl::StatusOr<std::vector<int64_t>> DimsOfScales(const QuantSpec& spec, Type type) {
  WEFT_ASSIGN_OR_RETURN(const ScaleLayout layout, LayoutOfScales(spec, type.rank()));
  std::vector<int64_t> dims;
  if (spec.granularity == QuantGranularity::kTensor) return dims;
  for (int d = 0; d < type.rank(); ++d) {
    const bool one_axis = spec.granularity == QuantGranularity::kAxis;
    if (one_axis && d != layout.axis) continue;
    if (!type.dim(d).is_constant()) {
      return absl::InvalidArgumentError(absl::StrCat("dim ", d, " has no constant size"));
    }
    const int64_t size = type.dim(d).value();
    const bool row = !layout.block_shape.empty() && layout.block_shape[d] == -1;
    const bool blocked = layout.block_size > 0 && d == layout.axis;
    const int64_t block = blocked ? layout.block_size : 1;
    dims.push_back(row ? 1 : (size + block - 1) / block);
  }
  return dims;
}

ScaleOperands BuildScales(Builder& b, const QuantSpec& spec, const QuantParams& params,
                          const std::vector<int64_t>& dims) {
  ScaleOperands operands;
  operands.scale = b.Constant(HostTensor::FromDoubles(spec.scale_dtype, dims, params.scale));
  const bool zero = std::all_of(params.zero_point.begin(), params.zero_point.end(),
                                [](int64_t z) { return z == 0; });
  if (zero && !IsUnsignedInt(spec.dtype)) return operands;
  operands.zero_point = b.Constant(HostTensor::FromInts(spec.dtype, dims, params.zero_point));
  return operands;
}

ScaleOperands BuildDynamicScales(Builder& b, const QuantSpec& spec, Value* value) {
  const ScaleLayout layout = LayoutFor(spec, value);
  std::optional<int64_t> axis;
  if (spec.granularity == QuantGranularity::kAxis || layout.block_size > 0) axis = layout.axis;
  return BuildChosenScales(b, spec, value, axis, layout);
}

ScaleOperands BuildScalesOfState(Builder& b, const QuantSpec& spec, Value* state) {
  if (state->type().dtype() != DType::kF32) {  // A histogram: counts follow.
    state = ops::BuildConvert(b, ops::BuildSlice(b, state, 0, 0, 2), DType::kF32);
  }
  std::optional<int64_t> axis;
  if (spec.granularity == QuantGranularity::kAxis) axis = 1;
  return BuildChosenScales(b, spec, state, axis, {});
}

Value* BuildQuantize(Builder& b, const QuantSpec& spec, Value* value, const ScaleOperands& scales) {
  const ScaleLayout layout = LayoutFor(spec, value);
  Value* q = ops::BuildQuantizeLinear(b, value, scales.scale, scales.zero_point, spec.dtype,
                                      layout.axis, layout.block_size, true, layout.block_shape);
  if (q == nullptr || HasWholeRange(spec)) return q;
  Value* least = b.Constant(HostTensor::ScalarInt(spec.dtype, spec.quant_min));
  Value* most = b.Constant(HostTensor::ScalarInt(spec.dtype, spec.quant_max));
  return ops::BuildClamp(b, q, least, most);
}

Value* BuildDequantize(Builder& b, const QuantSpec& spec, Value* quantized,
                       const ScaleOperands& scales, DType dtype) {
  const ScaleLayout layout = LayoutFor(spec, quantized);
  return ops::BuildDequantizeLinear(b, quantized, scales.scale, scales.zero_point, dtype,
                                    layout.axis, layout.block_size, layout.block_shape);
}

Value* BuildFakeQuantize(Builder& b, const QuantSpec& spec, Value* value,
                         const ScaleOperands& scales) {
  const ScaleLayout layout = LayoutFor(spec, value);
  const NarrowRange range = NarrowRangeOf(spec);
  return ops::BuildFakeQuantize(b, value, scales.scale, scales.zero_point, spec.dtype, range.low,
                                range.high, layout.axis, layout.block_size, layout.block_shape);
}

}  // namespace weft
