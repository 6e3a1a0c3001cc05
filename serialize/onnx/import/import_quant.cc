// Quantization, and products of quantized tensors. Matmuls of bytes become matmul_integer. Others
// become products of 32-bit integers, with the zero points taken off beforehand (so that the
// padding of a convolution stands for zero), then one quantize_linear.
#include "serialize/onnx/import/import_quant.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"
#include "serialize/onnx/import/import_window.h"
#include "serialize/onnx/import/narrow_types.h"

namespace weft::onnx_import {

Value* QuantParameter(NodeContext& c, Value* v, int64_t block_size) {
  if (v == nullptr || block_size != 0) return v;
  return v->type().rank() == 1 && v->type().dim(0).Is(1) ? Reshape(c, v, {}) : v;
}

// scale = (max(x, 0) - min(x, 0)) / 255; zero point = round(-min / scale).
DynamicallyQuantized QuantizeDynamically(NodeContext& c, Value* x) {
  constexpr double kSteps = 255;
  Value* zero = ScalarOf(c, DType::kF32, 0);
  Value* low = c.Op(ops::minimum, {c.Op(ops::amin, {x}), zero});
  Value* high = c.Op(ops::maximum, {c.Op(ops::amax, {x}), zero});
  Value* scale = WithScalar(c, ops::div, c.Op(ops::sub, {high, low}), kSteps);
  Value* point = c.Op(ops::div, {c.Op(ops::sub, {zero, low}), scale});
  Value* most = ScalarOf(c, DType::kF32, kSteps);
  point = c.Op(ops::round, {c.Op(ops::clamp, {point, zero, most})});
  point = Convert(c, point, DType::kU8);
  return {ops::BuildQuantizeLinear(c, x, scale, point, DType::kU8), scale, point};
}

namespace {

// --- QuantizeLinear, DequantizeLinear ---------------------------------------

struct Granularity {
  int64_t axis = 0;
  int64_t block_size = 0;
};

absl::StatusOr<Granularity> ReadGranularity(NodeContext& c) {
  Granularity g;
  const int64_t axis = c.opset() >= 13 ? c.Int("axis", 1) : 1;
  if (c.opset() >= 21) g.block_size = c.Int("block_size", 0);
  const Type scale = c.type(1);
  WEFT_RETURN_IF_ERROR(c.status());
  if (g.block_size < 0) {
    return c.Fail(absl::StrCat("block_size must not be negative, got ", g.block_size));
  }
  // With a single scale the axis attribute has no effect.
  const bool one = scale.rank() == 0 || (scale.rank() == 1 && scale.dim(0).Is(1));
  if (one && g.block_size == 0) return g;
  WEFT_ASSIGN_OR_RETURN(g.axis, c.Axis(axis, c.rank(0)));
  return g;
}

// The dtype of an attribute for which 0 means unspecified.
DType DtypeOr(NodeContext& c, absl::string_view name, DType otherwise) {
  return c.Int(name, 0) == 0 ? otherwise : c.Dtype(name, otherwise);
}

// The element type of QuantizeLinear's result.
struct Quantized {
  DType dtype = DType::kU8;
  const NarrowType* narrow = nullptr;  // Stored in `dtype`.
};

absl::StatusOr<Quantized> ReadQuantized(NodeContext& c) {
  Quantized q;
  if (c.has_input(2)) q = {c.dtype(2), FindNarrowType(c.narrow_type(2))};
  const int64_t given = c.opset() >= 21 ? c.Int("output_dtype", 0) : 0;
  if (given == 0) return q;
  Quantized named;
  named.narrow = FindNarrowType(given);
  named.dtype = named.narrow != nullptr ? named.narrow->held : c.Dtype("output_dtype", q.dtype);
  if (c.has_input(2) && (named.dtype != q.dtype || named.narrow != q.narrow)) {
    return c.Fail("output_dtype is not the dtype of y_zero_point");
  }
  return named;
}

absl::Status QuantizeLinear(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Granularity g, ReadGranularity(c));
  WEFT_ASSIGN_OR_RETURN(const Quantized q, ReadQuantized(c));
  // The dtype of the division. Integers are divided as floats, and quantize_linear divides by
  // f8e8m0 in a dtype of its own.
  DType quotient = c.dtype(1);
  if (c.opset() >= 23) quotient = DtypeOr(c, "precision", quotient);
  if (!IsFloat(quotient)) quotient = DType::kF32;
  const bool saturate = c.opset() < 19 || c.Bool("saturate", true);
  Value* x = quotient == DType::kF8E8M0 ? c.in(0) : Convert(c, c.in(0), quotient);
  Value* scale = Convert(c, QuantParameter(c, c.in(1), g.block_size), quotient);
  if (q.narrow != nullptr && c.num_outputs() > 0) c.SetNarrowType(0, q.narrow->data_type);
  Value* y = ops::BuildQuantizeLinear(c, x, scale, QuantParameter(c, c.opt(2), g.block_size),
                                      q.dtype, g.axis, g.block_size, saturate);
  // `dtype` clamps to a wider range, which contains that of the type.
  if (q.narrow != nullptr) y = ClampToNarrow(c, y, *q.narrow);
  c.SetOutput(0, y);
  return c.status();
}

absl::Status DequantizeLinear(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Granularity g, ReadGranularity(c));
  DType dtype = c.dtype(1);
  if (c.opset() >= 23) dtype = DtypeOr(c, "output_dtype", dtype);
  if (dtype == DType::kF8E8M0) return c.Fail("output_dtype is needed where x_scale is FLOAT8E8M0");
  c.SetOutput(0, c.Op(ops::dequantize_linear,
                      {c.in(0), QuantParameter(c, c.in(1), g.block_size),
                       QuantParameter(c, c.opt(2), g.block_size)},
                      {{"dtype", dtype}, {"axis", g.axis}, {"block_size", g.block_size}}));
  return c.status();
}

absl::Status DynamicQuantizeLinear(NodeContext& c) {
  const DynamicallyQuantized y = QuantizeDynamically(c, c.in(0));
  c.SetOutput(0, y.value);
  c.SetOutput(1, y.scale);
  c.SetOutput(2, y.zero_point);
  return c.status();
}

// --- Matmuls and convolutions -------------------------------------------------

// Parameters of rows, [M] for a matrix [M, K], reshaped to broadcast along rows; other parameters
// stay as they are.
Value* AlongRows(NodeContext& c, Value* v, Type matrix) {
  if (v == nullptr || v->type().rank() != 1 || v->type().dim(0).Is(1) || matrix.rank() != 2) {
    return v;
  }
  return Reshape(c, v, {v->type().dim(0), SymInt(1)});
}

// Parameters of channels, reshaped to broadcast along dim `dim` of a tensor of `rank` dims; a
// single one stays as it is.
Value* AlongChannels(NodeContext& c, Value* v, int rank, int dim) {
  return v == nullptr || v->type().rank() != 1 ? v : AlongDim(c, v, dim, rank);
}

// `v` in a wide dtype, minus its zero point.
Value* Centered(NodeContext& c, Value* v, Value* zero_point, DType wide) {
  v = Convert(c, v, wide);
  if (zero_point == nullptr) return v;
  return c.Op(ops::sub, {v, Convert(c, zero_point, wide)});
}

bool IsOfBytes(const Value* v) {
  const DType dtype = v->type().dtype();
  return dtype == DType::kI8 || dtype == DType::kU8;
}

bool IsOne(Type type) { return type.rank() == 0 || (type.rank() == 1 && type.dim(0).Is(1)); }

// The zero points of b as matmul_integer takes them: one, or one for each column. Zero points whose
// number is a symbol are broadcast, as subtracting them would do.
Value* OfColumns(NodeContext& c, Value* point, SymInt columns) {
  if (point == nullptr || IsOne(point->type()) || point->type().dim(0) == columns) return point;
  return ops::Expand(c, point, {columns});
}

// matmul_integer takes these operands: bytes, with one zero point of a.
bool IsMatmulOfBytes(const Value* a, const Value* a_point, const Value* b, const Value* b_point) {
  if (!IsOfBytes(a) || !IsOfBytes(b) || a->type().rank() < 1 || b->type().rank() < 2) return false;
  if (a_point != nullptr &&
      (!IsOne(a_point->type()) || a_point->type().dtype() != a->type().dtype())) {
    return false;
  }
  return b_point == nullptr ||
         (b_point->type().rank() <= 1 && b_point->type().dtype() == b->type().dtype());
}

}  // namespace

Value* IntegerMatMul(NodeContext& c, Value* a, Value* a_point, Value* b, Value* b_point,
                     DType wide) {
  if (a == nullptr || b == nullptr) return nullptr;
  if (wide == DType::kI32 && IsMatmulOfBytes(a, a_point, b, b_point)) {
    const SymInt columns = b->type().dim(b->type().rank() - 1);
    return c.Op(ops::matmul_integer, {a, b, a_point, OfColumns(c, b_point, columns)});
  }
  Value* left = Centered(c, a, AlongRows(c, a_point, TypeOf(a)), wide);
  return c.Op(ops::matmul, {left, Centered(c, b, b_point, wide)});
}

namespace {

absl::Status MatMulInteger(NodeContext& c) {
  c.SetOutput(0, IntegerMatMul(c, c.in(0), c.opt(2), c.in(1), c.opt(3), DType::kI32));
  return c.status();
}

// Quantizes the real value of an integer result by the scale and zero point at inputs `y_scale` and
// `y_scale + 1`.
void SetQuantized(NodeContext& c, Value* product, Value* scale, int y_scale) {
  Value* real = c.Op(ops::mul, {Convert(c, product, DType::kF32), scale});
  c.SetOutput(0, c.Op(ops::quantize_linear,
                      {real, QuantParameter(c, Convert(c, c.in(y_scale), DType::kF32)),
                       QuantParameter(c, c.in(y_scale + 1))},
                      {{"dtype", c.dtype(y_scale + 1)}}));
}

absl::Status QLinearMatMul(NodeContext& c) {
  const bool integers = IsInt(c.dtype(0)) && IsInt(c.dtype(3));
  const DType wide = integers ? DType::kI32 : DType::kF32;
  Value* product = IntegerMatMul(c, c.in(0), c.opt(2), c.in(3), c.opt(5), wide);
  Value* a_scale = AlongRows(c, c.in(1), c.type(0));
  Value* scale =
      c.Op(ops::mul, {Convert(c, a_scale, DType::kF32), Convert(c, c.in(4), DType::kF32)});
  SetQuantized(c, product, scale, 6);
  return c.status();
}

// The convolution of the quantized tensors x and w at two inputs, with their zero points.
absl::StatusOr<Value*> IntegerConv(NodeContext& c, int x, int x_point, int w, int w_point,
                                   Value* bias) {
  Value* w_zero = AlongChannels(c, c.opt(w_point), c.rank(w), 0);
  return Convolve(c, Centered(c, c.in(x), c.opt(x_point), DType::kI32),
                  Centered(c, c.in(w), w_zero, DType::kI32), bias);
}

absl::Status ConvInteger(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(Value* const y, IntegerConv(c, 0, 2, 1, 3, nullptr));
  c.SetOutput(0, y);
  return c.status();
}

absl::Status QLinearConv(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(Value* const product, IntegerConv(c, 0, 2, 3, 5, c.opt(8)));
  Value* w_scale = AlongChannels(c, c.in(4), c.rank(0), 1);
  SetQuantized(c, product, c.Op(ops::mul, {c.in(1), w_scale}), 6);
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"ConvInteger", {10}, ConvInteger},
    {"DequantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, DequantizeLinear},
    {"DynamicQuantizeLinear", {11}, DynamicQuantizeLinear},
    {"MatMulInteger", {10}, MatMulInteger},
    {"QLinearConv", {10}, QLinearConv},
    {"QLinearMatMul", {10, 21}, QLinearMatMul},
    {"QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, QuantizeLinear},
};

}  // namespace

absl::Span<const OnnxOp> QuantTable() { return kTable; }

}  // namespace weft::onnx_import
