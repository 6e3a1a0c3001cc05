// Quantisation of whole tensors and channels: torch.ops.quantized_decomposed, and what
// trains it.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/quant_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// Of dtypes that are no integers, as PyTorch computes it: clamp(round(x / scale) + zero).
Value* QuantizeToFloat(AtenCall& c, Value* x, Value* scale, Value* zero, DType dtype) {
  Value* q = c.Op(ops::round, {Mul(c, x, c.Op(ops::reciprocal, {scale}))});
  q = Add(c, q, Convert(c, zero, DTypeOf(q)));
  q = c.Op(ops::clamp, {q, NumberLike(c, q, static_cast<double>(c.Int("quant_min"))),
                        NumberLike(c, q, static_cast<double>(c.Int("quant_max")))});
  return Convert(c, q, dtype);
}

DType OutDType(AtenCall& c) {
  return c.schema().Find("out_dtype") >= 0 ? c.Dtype("out_dtype", DType::kF32) : DType::kF32;
}

void QuantizePerTensor(AtenCall& c) {
  Value* x = Convert(c, c.T("input"), DType::kF32);
  const DType dtype = c.Dtype("dtype", DType::kI8);
  Value* scale = c.As("scale", DType::kF32);
  if (!IsInt(dtype)) {
    Value* zero = Reshape(c, c.As("zero_point", DType::kF32), {});
    return c.Return(QuantizeToFloat(c, x, Reshape(c, scale, {}), zero, dtype));
  }
  c.Return(QuantizeLinear(c, x, scale, c.As("zero_point", dtype), dtype, WholeTensor()));
}

void DequantizePerTensor(AtenCall& c) {
  Value* q = c.T("input");
  c.Return(DequantizeLinear(c, q, c.As("scale", DType::kF32), c.As("zero_point", DTypeOf(q)),
                            OutDType(c), WholeTensor()));
}

void QuantizePerChannel(AtenCall& c) {
  Value* x = Convert(c, c.T("input"), DType::kF32);
  const int axis = c.Dim("axis", RankOf(x));
  const DType dtype = c.Dtype("dtype", DType::kI8);
  Value* scale = Convert(c, c.T("scales"), DType::kF32);
  Value* zero = c.T("zero_points");
  if (!IsInt(dtype)) {
    const auto along = [&](Value* v) { return AlongDim(c, v, axis, RankOf(x)); };
    return c.Return(QuantizeToFloat(c, x, along(scale), along(zero), dtype));
  }
  c.Return(QuantizeLinear(c, x, scale, zero, dtype, AlongAxis(x, axis)));
}

void DequantizePerChannel(AtenCall& c) {
  Value* q = c.T("input");
  const int axis = c.Dim("axis", RankOf(q));
  c.Return(DequantizeLinear(c, q, Convert(c, c.T("scales"), DType::kF32), c.OptT("zero_points"),
                            OutDType(c), AlongAxis(q, axis)));
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
