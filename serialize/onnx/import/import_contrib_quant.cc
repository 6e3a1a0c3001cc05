// com.microsoft operators of quantized tensors, as ONNX Runtime documents them. Pointwise ones,
// pools and moves are imported as the operator on dequantized tensors, then quantize_linear:
// ONNX Runtime's kernels, which use tables and fixed-point numbers, may be one step off that.
// Products stay integer products.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_quant.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"
#include "serialize/onnx/import/import_window.h"

namespace weft::onnx_import {
namespace {

// Input `i`, dequantized by the scale and the zero point that follow it.
Value* Real(NodeContext& c, int i) {
  return ops::BuildDequantizeLinear(c, c.in(i), QuantParameter(c, c.in(i + 1)),
                                    QuantParameter(c, c.opt(i + 2)));
}

// Output 0 is `real`, quantized by the scale at input `scale` and the zero point behind it.
absl::Status SetQuantized(NodeContext& c, Value* real, int scale, DType dtype) {
  c.SetOutput(0, ops::BuildQuantizeLinear(c, real, QuantParameter(c, c.in(scale)),
                                          QuantParameter(c, c.opt(scale + 1)), dtype));
  return c.status();
}

template <const OpDef& op>
absl::Status Binary(NodeContext& c) {
  return SetQuantized(c, c.Op(op, {Real(c, 0), Real(c, 3)}), 6, c.dtype(0));
}

absl::Status Sigmoid(NodeContext& c) {
  return SetQuantized(c, c.Op(ops::sigmoid, {Real(c, 0)}), 3, c.dtype(0));
}

absl::Status LeakyRelu(NodeContext& c) {
  Value* y = c.Op(ops::leaky_relu, {Real(c, 0)}, {{"negative_slope", c.Float("alpha", 0.01)}});
  return SetQuantized(c, y, 3, c.dtype(0));
}

// Before opset 13, Softmax is over all dims from the axis on.
absl::Status Softmax(NodeContext& c) {
  const bool flattens = c.RequiredInt("opset") < 13;
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -1), c.rank(0), flattens));
  Value* x = Real(c, 0);
  const std::vector<SymInt> dims = Dims(x);
  if (flattens) {
    const auto split = absl::MakeConstSpan(dims);
    x = Reshape(c, x, {Product(split.subspan(0, axis)), Product(split.subspan(axis))});
  }
  Value* y = c.Op(ops::softmax, {x}, {{"dim", flattens ? 1 : axis}});
  if (flattens) y = Reshape(c, y, dims);
  return SetQuantized(c, y, 3, c.dtype(0));
}

absl::Status Where(NodeContext& c) {
  Value* y = c.Op(ops::where, {c.in(0), Real(c, 1), Real(c, 4)});
  return SetQuantized(c, y, 7, c.dtype(1));
}

// Inputs: the scale and zero point of the result, then three for each tensor.
absl::Status Concat(NodeContext& c) {
  if (c.num_inputs() < 5 || c.num_inputs() % 3 != 2) {
    return c.Fail(absl::StrCat("takes 2 inputs and 3 for each tensor, got ", c.num_inputs()));
  }
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.RequiredInt("axis"), c.rank(2)));
  std::vector<Value*> parts;
  for (int i = 2; i < c.num_inputs(); i += 3) parts.push_back(Real(c, i));
  WEFT_RETURN_IF_ERROR(c.status());
  return SetQuantized(c, ops::BuildCat(c, parts, axis), 0, c.dtype(2));
}

absl::Status CheckChannelsFirst(NodeContext& c) {
  if (c.Int("channels_last", 0) == 0) return absl::OkStatus();
  return c.Unsupported("channels_last is not supported");
}

absl::Status AveragePool(NodeContext& c) {
  WEFT_RETURN_IF_ERROR(CheckChannelsFirst(c));
  WEFT_ASSIGN_OR_RETURN(Value* const y, PoolAverage(c, Real(c, 0)));
  return SetQuantized(c, y, 3, c.dtype(0));
}

absl::Status GlobalAveragePool(NodeContext& c) {
  WEFT_RETURN_IF_ERROR(CheckChannelsFirst(c));
  WEFT_RETURN_IF_ERROR(SpatialDims(c, c.in(0)).status());
  std::vector<int64_t> axes;
  for (int i = 2; i < c.rank(0); ++i) axes.push_back(i);
  return SetQuantized(c, ops::BuildDimsReduction(c, ops::mean, Real(c, 0), axes, true), 3,
                      c.dtype(0));
}

// --- Products -----------------------------------------------------------------

// A matrix, or its transpose where the attribute says so.
Value* Turned(NodeContext& c, int i, absl::string_view attr) {
  Value* v = c.in(i);
  return c.Bool(attr, false) ? Permute(c, v, {1, 0}) : v;
}

// An integer product and a bias of the same steps (or null), as real numbers.
Value* Scaled(NodeContext& c, Value* product, Value* a_scale, Value* b_scale) {
  Value* scale = c.Op(ops::mul, {Convert(c, QuantParameter(c, a_scale), DType::kF32),
                                 Convert(c, QuantParameter(c, b_scale), DType::kF32)});
  return c.Op(ops::mul, {Convert(c, product, DType::kF32), scale});
}

// alpha * (A * B + C), where C has the steps of the product. Without a scale the result is f32.
absl::Status Gemm(NodeContext& c) {
  const double alpha = c.Float("alpha", 1);
  Value* a = Turned(c, 0, "transA");
  Value* b = Turned(c, 3, "transB");
  Value* sum =
      IntegerMatMul(c, a, QuantParameter(c, c.in(2)), b, QuantParameter(c, c.in(5)), DType::kI32);
  if (c.has_input(6)) sum = c.Op(ops::add, {sum, c.in(6)});
  Value* real = Scaled(c, sum, c.in(1), c.in(4));
  if (alpha != 1) real = WithScalar(c, ops::mul, real, alpha);
  if (c.has_input(7)) return SetQuantized(c, real, 7, c.has_input(8) ? c.dtype(8) : c.dtype(0));
  c.SetOutput(0, real);
  return c.status();
}

absl::Status SetFloatProduct(NodeContext& c, Value* real, int bias, DType dtype) {
  if (c.has_input(bias)) real = c.Op(ops::add, {real, Convert(c, c.in(bias), DType::kF32)});
  c.SetOutput(0, Convert(c, real, dtype));
  return c.status();
}

absl::Status MatMulIntegerToFloat(NodeContext& c) {
  Value* product = IntegerMatMul(c, c.in(0), QuantParameter(c, c.opt(4)), c.in(1),
                                 QuantParameter(c, c.opt(5)), DType::kI32);
  return SetFloatProduct(c, Scaled(c, product, c.in(2), c.in(3)), 6, c.dtype(2));
}

absl::Status DynamicQuantizeMatMul(NodeContext& c) {
  const DynamicallyQuantized a = QuantizeDynamically(c, c.in(0));
  Value* product =
      IntegerMatMul(c, a.value, a.zero_point, c.in(1), QuantParameter(c, c.opt(3)), DType::kI32);
  return SetFloatProduct(c, Scaled(c, product, a.scale, c.in(2)), 4, DType::kF32);
}

// --- QuantizeLinear, DequantizeLinear -----------------------------------------

// The axis of scales that are not one.
absl::StatusOr<int64_t> ScaleAxis(NodeContext& c) {
  const int64_t axis = c.Int("axis", 1);
  const Type scale = c.type(1);
  WEFT_RETURN_IF_ERROR(c.status());
  if (scale.rank() == 0 || (scale.rank() == 1 && scale.dim(0).Is(1))) return 0;
  WEFT_ASSIGN_OR_RETURN(const int checked, c.Axis(axis, c.rank(0)));
  return checked;
}

absl::Status QuantizeLinear(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const int64_t axis, ScaleAxis(c));
  const DType dtype = c.has_input(2) ? c.dtype(2) : DType::kU8;
  Value* x = Convert(c, c.in(0), c.dtype(1));
  c.SetOutput(0, ops::BuildQuantizeLinear(c, x, QuantParameter(c, c.in(1)),
                                          QuantParameter(c, c.opt(2)), dtype, axis));
  return c.status();
}

absl::Status DequantizeLinear(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const int64_t axis, ScaleAxis(c));
  c.SetOutput(0, ops::BuildDequantizeLinear(c, c.in(0), QuantParameter(c, c.in(1)),
                                            QuantParameter(c, c.opt(2)), c.dtype(1), axis));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"DequantizeLinear", {1}, DequantizeLinear, "com.microsoft"},
    {"DynamicQuantizeMatMul", {1}, DynamicQuantizeMatMul, "com.microsoft"},
    {"MatMulIntegerToFloat", {1}, MatMulIntegerToFloat, "com.microsoft"},
    {"QGemm", {1}, Gemm, "com.microsoft"},
    {"QLinearAdd", {1}, Binary<ops::add>, "com.microsoft"},
    {"QLinearAveragePool", {1}, AveragePool, "com.microsoft"},
    {"QLinearConcat", {1}, Concat, "com.microsoft"},
    {"QLinearGlobalAveragePool", {1}, GlobalAveragePool, "com.microsoft"},
    {"QLinearLeakyRelu", {1}, LeakyRelu, "com.microsoft"},
    {"QLinearMul", {1}, Binary<ops::mul>, "com.microsoft"},
    {"QLinearSigmoid", {1}, Sigmoid, "com.microsoft"},
    {"QLinearSoftmax", {1}, Softmax, "com.microsoft"},
    {"QLinearWhere", {1}, Where, "com.microsoft"},
    {"QuantizeLinear", {1}, QuantizeLinear, "com.microsoft"},
};

}  // namespace

absl::Span<const OnnxOp> ContribQuantTable() { return kTable; }

}  // namespace weft::onnx_import
