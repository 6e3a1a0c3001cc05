// Quantisation: torch.ops.quantized_decomposed, and what trains it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// clamp(round(x / scale) + zero point): PyTorch multiplies by 1 / scale.
Value* QuantizeBy(AtenCall& c, Value* x, Value* scale, Value* zero) {
  const DType dtype = c.Dtype("dtype", DType::kI8);
  Value* inverse = c.Op(ops::reciprocal, {scale});
  Value* q = c.Op(ops::round, {Mul(c, x, inverse)});
  q = Add(c, q, Convert(c, zero, DTypeOf(q)));
  q = c.Op(ops::clamp, {q, NumberLike(c, q, static_cast<double>(c.Int("quant_min"))),
                        NumberLike(c, q, static_cast<double>(c.Int("quant_max")))});
  return Convert(c, q, dtype);
}

Value* DequantizeBy(AtenCall& c, Value* q, Value* scale, Value* zero) {
  const DType dtype = c.Dtype("out_dtype", DType::kF32);
  Value* x = Convert(c, q, DType::kF32);
  if (zero != nullptr) x = Sub(c, x, Convert(c, zero, DType::kF32));
  return Convert(c, Mul(c, x, Convert(c, scale, DType::kF32)), dtype);
}

bool FullRange(AtenCall& c, DType dtype) {
  return (dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI16 ||
          dtype == DType::kU16) &&
         c.Int("quant_min") == IntMin(dtype) && c.Int("quant_max") == IntMax(dtype);
}

struct Parameters {
  Value* scale = nullptr;
  Value* zero = nullptr;
};

Parameters PerTensor(AtenCall& c, DType dtype) {
  Parameters p;
  p.scale = Convert(c, c.As("scale", DType::kF32), DType::kF32);
  p.zero = c.As("zero_point", dtype);
  if (RankOf(p.scale) > 0) p.scale = Reshape(c, p.scale, {});
  if (RankOf(p.zero) > 0) p.zero = Reshape(c, p.zero, {});
  return p;
}

void QuantizePerTensor(AtenCall& c) {
  Value* x = Convert(c, c.T("input"), DType::kF32);
  const DType dtype = c.Dtype("dtype", DType::kI8);
  if (FullRange(c, dtype)) {
    const Parameters p = PerTensor(c, dtype);
    return c.Return(c.Op(ops::quantize_linear, {x, p.scale, p.zero}, {{"dtype", dtype}}));
  }
  const Parameters p = PerTensor(c, DType::kI32);
  c.Return(QuantizeBy(c, x, p.scale, p.zero));
}

void DequantizePerTensor(AtenCall& c) {
  Value* q = c.T("input");
  const DType out =
      c.schema().Find("out_dtype") >= 0 ? c.Dtype("out_dtype", DType::kF32) : DType::kF32;
  const DType dtype = DTypeOf(q);
  if (FullRange(c, dtype) && out == DType::kF32) {
    const Parameters p = PerTensor(c, dtype);
    return c.Return(c.Op(ops::dequantize_linear, {q, p.scale, p.zero}, {{"dtype", out}}));
  }
  const Parameters p = PerTensor(c, DType::kI32);
  c.Return(DequantizeBy(c, q, p.scale, p.zero));
}

Parameters PerChannel(AtenCall& c, const Value* x, int axis) {
  Parameters p;
  p.scale = AlongDim(c, Convert(c, c.T("scales"), DType::kF32), axis, RankOf(x));
  if (c.Has("zero_points")) {
    p.zero = AlongDim(c, c.T("zero_points"), axis, RankOf(x));
  }
  return p;
}

void QuantizePerChannel(AtenCall& c) {
  Value* x = Convert(c, c.T("input"), DType::kF32);
  const int axis = c.Dim("axis", RankOf(x));
  const DType dtype = c.Dtype("dtype", DType::kI8);
  if (FullRange(c, dtype)) {
    return c.Return(
        c.Op(ops::quantize_linear,
             {x, Convert(c, c.T("scales"), DType::kF32), Convert(c, c.T("zero_points"), dtype)},
             {{"dtype", dtype}, {"axis", axis}}));
  }
  const Parameters p = PerChannel(c, x, axis);
  c.Return(QuantizeBy(c, x, p.scale, p.zero));
}

void DequantizePerChannel(AtenCall& c) {
  Value* q = c.T("input");
  const int axis = c.Dim("axis", RankOf(q));
  const DType dtype = DTypeOf(q);
  const bool plain =
      c.schema().Find("out_dtype") < 0 || c.Dtype("out_dtype", DType::kF32) == DType::kF32;
  if (FullRange(c, dtype) && plain && c.Has("zero_points")) {
    return c.Return(
        c.Op(ops::dequantize_linear,
             {q, Convert(c, c.T("scales"), DType::kF32), Convert(c, c.T("zero_points"), dtype)},
             {{"axis", axis}}));
  }
  const Parameters p = PerChannel(c, q, axis);
  c.Return(DequantizeBy(c, q, p.scale, p.zero));
}

// Scale and zero point that cover all values and 0.
void ChooseQParams(AtenCall& c) {
  Value* x = Convert(c, c.T("input"), DType::kF32);
  const Ints dims = AllDims(RankOf(x));
  const double low = static_cast<double>(c.Int("quant_min"));
  const double high = static_cast<double>(c.Int("quant_max"));
  Value* zero = NumberLike(c, x, 0);
  Value* least = c.Op(ops::minimum, {Reduce(c, ops::amin, x, dims, false), zero});
  Value* most = c.Op(ops::maximum, {Reduce(c, ops::amax, x, dims, false), zero});
  Value* scale = Div(c, Sub(c, most, least), high - low);
  scale = c.Op(ops::maximum, {scale, NumberLike(c, scale, c.Float("eps"))});
  Value* point = Sub(c, NumberLike(c, scale, low), c.Op(ops::round, {Div(c, least, scale)}));
  point = c.Op(ops::clamp, {point, NumberLike(c, point, low), NumberLike(c, point, high)});
  c.Return(Convert(c, Reshape(c, scale, {SymInt(1)}), DType::kF64));
  c.Return(Convert(c, Reshape(c, point, {SymInt(1)}), DType::kI64));
}

// Quantised and back; the mask says what was not cut off.
Value* FakeQuantize(AtenCall& c, Value* x, Value* scale, Value* zero, Value** mask) {
  Value* low = NumberLike(c, x, static_cast<double>(c.Int("quant_min")));
  Value* high = NumberLike(c, x, static_cast<double>(c.Int("quant_max")));
  zero = Convert(c, zero, DTypeOf(x));
  Value* q = Add(c, c.Op(ops::round, {Mul(c, x, c.Op(ops::reciprocal, {scale}))}), zero);
  *mask = c.Op(ops::logical_and, {c.Op(ops::ge, {q, low}), c.Op(ops::le, {q, high})});
  return Mul(c, Sub(c, c.Op(ops::clamp, {q, low, high}), zero), scale);
}

template <bool with_mask>
void FakePerTensor(AtenCall& c) {
  Value* x = c.T("self");
  Value* mask;
  Value* y = FakeQuantize(c, x, Reshape(c, c.As("scale", DTypeOf(x)), {}),
                          Reshape(c, c.As("zero_point", DType::kI64), {}), &mask);
  c.Return(y);
  if (with_mask) c.Return(mask);
}

template <bool with_mask>
void FakePerChannel(AtenCall& c) {
  Value* x = c.T("self");
  const int axis = c.Dim("axis", RankOf(x));
  Value* mask;
  Value* y = FakeQuantize(c, x, AlongDim(c, c.As("scale", DTypeOf(x)), axis, RankOf(x)),
                          AlongDim(c, c.T("zero_point"), axis, RankOf(x)), &mask);
  c.Return(y);
  if (with_mask) c.Return(mask);
}

constexpr AtenOp kTable[] = {
    {"fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor "
     "zero_point, int axis, int quant_min, int quant_max) -> Tensor",
     FakePerChannel<false>},
    {"fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, "
     "Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor "
     "output, Tensor mask)",
     FakePerChannel<true>},
    {"fake_quantize_per_tensor_affine(Tensor self, float scale, int "
     "zero_point, int quant_min, int quant_max) -> Tensor",
     FakePerTensor<false>},
    {"fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor "
     "scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor",
     FakePerTensor<false>},
    {"fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int "
     "zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor "
     "mask)",
     FakePerTensor<true>},
    {"quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, "
     "int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
     ChooseQParams},
    {"quantized_decomposed::dequantize_per_channel(Tensor input, Tensor "
     "scales, Tensor? zero_points, int axis, int quant_min, int quant_max, "
     "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     DequantizePerChannel},
    {"quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, "
     "int zero_point, int quant_min, int quant_max, ScalarType dtype, *, "
     "ScalarType? out_dtype=None) -> Tensor",
     DequantizePerTensor},
    {"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor "
     "scale, Tensor zero_point, int quant_min, int quant_max, ScalarType "
     "dtype, *, ScalarType? out_dtype=None) -> Tensor",
     DequantizePerTensor},
    {"quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor "
     "scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType "
     "dtype, *, ScalarType? out_dtype=None) -> Tensor",
     DequantizePerTensor},
    {"quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, "
     "Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType "
     "dtype) -> Tensor",
     QuantizePerChannel},
    {"quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int "
     "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     QuantizePerTensor},
    {"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor "
     "scale, Tensor zero_point, int quant_min, int quant_max, ScalarType "
     "dtype) -> Tensor",
     QuantizePerTensor},
    {"quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor "
     "scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType "
     "dtype) -> Tensor",
     QuantizePerTensor},
};

}  // namespace

absl::Span<const AtenOp> QuantTable() { return kTable; }

}  // namespace weft::pt2
