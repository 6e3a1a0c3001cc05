// Products, convolutions, normalizations.

#include <algorithm>

#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_nbits.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// --- Products ---------------------------------------------------------------------

// Gemm is for matrices.
absl::Status ExportLinear(NodeExport& e) {
  if (e.rank() != 2) return e.Unsupported("has no form for this rank");
  e.SetOutput(0, e.Op("Gemm", {e.in(0), e.in(1), e.in(2)}, {{"transB", 1}}));
  return absl::OkStatus();
}

// Bits that the magnitudes of an integer tensor take, as far as its node tells.
int MagnitudeBits(const Value* value) {
  const Node* node = value->node();
  int bits = DTypeBits(value->type().dtype());
  if (node != nullptr && node->Is(ops::convert)) {
    const DType from = node->operand(0)->type().dtype();
    if (IsInt(from)) bits = std::min(bits, DTypeBits(from));
  } else if (node != nullptr && (node->Is(ops::sub) || node->Is(ops::add))) {
    int operands = 0;
    for (int i : {0, 1}) {
      const Node* n = node->operand(i)->node();
      const bool narrow =
          n != nullptr && n->Is(ops::convert) && IsInt(n->operand(0)->type().dtype());
      operands = std::max(operands, narrow ? DTypeBits(n->operand(0)->type().dtype()) : 64);
    }
    bits = std::min(bits, operands + 1);
  }
  return bits;
}

// Conv takes floats alone; f64 holds sums of integers below 2^53.
absl::Status CheckExactInF64(const NodeExport& e) {
  constexpr int kTermBits = 20;
  const int bits =
      MagnitudeBits(e.node().operand(0)) + MagnitudeBits(e.node().operand(1)) + kTermBits;
  if (bits <= 53) return absl::OkStatus();
  return NodeExport::Unsupported("of wide integers has no form: Conv takes floats alone");
}

struct ConvAttrs {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
};

absl::StatusOr<ConvAttrs> ConstantConvAttrs(const NodeExport& e) {
  const auto stride = e.Constants("stride");
  const auto padding = e.Constants("padding");
  const auto dilation = e.Constants("dilation");
  const auto output_padding = e.Constants("output_padding");
  const auto groups = e.attrs().Sym("groups").constant();
  if (!stride || !padding || !dilation || !output_padding || !groups) {
    return e.Unsupported("has no form with symbolic attributes");
  }
  ConvAttrs attrs = {*stride, *padding, *dilation, *output_padding, *groups};
  if (attrs.padding.size() == attrs.stride.size()) {
    attrs.padding.insert(attrs.padding.end(), padding->begin(), padding->end());
  }
  return attrs;
}

// `x` with the parts that negative padding crops cut off; no padding is left.
Val PadSpatial(NodeExport& e, Val x, std::vector<int64_t>* padding) {
  std::vector<int64_t> pads(padding->begin(), padding->end());
  const size_t n = pads.size() / 2;
  pads.insert(pads.begin(), {0, 0});
  pads.insert(pads.begin() + 2 + n, {0, 0});
  padding->assign(2 * n, 0);
  return e.Op("Pad", {x, e.Ints(pads)});
}

OnnxAttrs AttrsOf(const NodeExport& e, const ConvAttrs& c) {
  OnnxAttrs attrs = {
      {"dilations", c.dilation}, {"group", c.groups}, {"pads", c.padding}, {"strides", c.stride}};
  if (const auto dims = e.type(1).static_dims()) {
    attrs.push_back({"kernel_shape", std::vector<int64_t>(dims->begin() + 2, dims->end())});
  }
  return attrs;
}

absl::Status ExportConvolution(NodeExport& e) {
  WEFT_ASSIGN_OR_RETURN(ConvAttrs c, ConstantConvAttrs(e));
  const bool transposed = e.attrs().Bool("transposed");
  Val x = e.in(0);
  if (*std::min_element(c.padding.begin(), c.padding.end()) < 0) {
    if (transposed) return e.Unsupported("has no form with negative padding");
    x = PadSpatial(e, x, &c.padding);
  }
  Val weight = e.in(1);
  Val bias = e.in(2);
  const DType dtype = e.dtype();
  if (!IsFloat(dtype)) {
    WEFT_RETURN_IF_ERROR(CheckExactInF64(e));
    x = e.Cast(x, DType::kF64);
    weight = e.Cast(weight, DType::kF64);
  }
  OnnxAttrs attrs = AttrsOf(e, c);
  if (transposed && !c.output_padding.empty()) {
    attrs.push_back({"output_padding", c.output_padding});
  }
  const char* op_type = transposed ? "ConvTranspose" : "Conv";
  if (IsFloat(dtype)) {
    e.SetOutput(0, e.Op(op_type, {x, weight, bias}, attrs));
    return absl::OkStatus();
  }
  Val sum = e.Cast(e.Op(op_type, {x, weight}, attrs), DType::kI64);
  sum = e.Cast(sum, dtype);
  if (bias != nullptr) {
    // [K] to [K, 1, ...]
    std::vector<int64_t> axes;
    for (int i = 1; i < e.rank() - 1; ++i) axes.push_back(i);
    bias = e.Op("Unsqueeze", {bias, e.Ints(axes)});
    sum = e.Op("Add", {sum, bias});
  }
  e.SetOutput(0, sum);
  return absl::OkStatus();
}

// A zero point for all of an operand is a scalar.
Val ZeroPoint(NodeExport& e, int i) {
  if (!e.has(i) || e.rank(i) == 0 || !e.type(i).numel().Is(1)) return e.has(i) ? e.in(i) : nullptr;
  return e.Op("Reshape", {e.in(i), e.w().Tensor(HostTensor(DType::kI64, {0}))});
}

absl::Status ExportConvolutionInteger(NodeExport& e) {
  WEFT_ASSIGN_OR_RETURN(const ConvAttrs c, ConstantConvAttrs(e));
  const bool crops = *std::min_element(c.padding.begin(), c.padding.end()) < 0;
  if (crops || e.attrs().Bool("transposed")) {
    return e.Unsupported("has no form with negative padding or transposed");
  }
  e.SetOutput(
      0, e.Op("ConvInteger", {e.in(0), e.in(1), ZeroPoint(e, 2), ZeroPoint(e, 3)}, AttrsOf(e, c)));
  return absl::OkStatus();
}

absl::Status ExportMatmulInteger(NodeExport& e) {
  e.SetOutput(0, e.Op("MatMulInteger", {e.in(0), e.in(1), ZeroPoint(e, 2), ZeroPoint(e, 3)}));
  return absl::OkStatus();
}

absl::Status ExportDeformConv(NodeExport& e) {
  if (e.opset() < 19) return e.NeedsOpset(19);
  const DType dtype = e.dtype();
  const DType wide = dtype == DType::kBF16 ? DType::kF32 : dtype;
  std::vector<Val> operands;
  // The bias stands before the mask.
  for (int i : {0, 1, 2, 4, 3}) {
    operands.push_back(e.has(i) ? e.Cast(e.in(i), wide) : nullptr);
  }
  Val y = e.w().Op("DeformConv", operands,
                   {{"dilations", e.attrs().Ints("dilation")},
                    {"group", e.Int("groups")},
                    {"offset_group", e.Int("offset_groups")},
                    {"pads", e.attrs().Ints("padding")},
                    {"strides", e.attrs().Ints("stride")}});
  e.SetOutput(0, e.Cast(y, dtype));
  return absl::OkStatus();
}

// --- Normalizations ----------------------------------------------------------------

absl::Status ExportBatchNorm(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(e.CheckFits(e.attrs().Float("eps")));
  e.SetOutput(0, e.w().Op("BatchNormalization", e.ins(), {{"epsilon", e.attrs().Float("eps")}}));
  return absl::OkStatus();
}

// The statistics are f32, whatever the operand is.
absl::Status ExportLayerNorm(NodeExport& e) {
  if (e.dtype() == DType::kF64) return e.Unsupported("has no form for f64");
  const auto shape = e.attrs().Syms("normalized_shape");
  Val weight = e.in(1);
  if (weight == nullptr) {
    weight = e.Full(shape, HostTensor::Scalar(e.dtype(), 1));
  }
  const std::vector<Val> results =
      e.Ops("LayerNormalization", {e.in(0), weight, e.in(2)},
            {{"axis", -static_cast<int64_t>(shape.size())}, {"epsilon", e.attrs().Float("eps")}},
            {true, e.used(1), e.used(2)}, DType::kF32);
  for (int i = 0; i < 3; ++i) e.SetOutput(i, results[i]);
  return absl::OkStatus();
}

absl::Status ExportGroupNorm(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(e.CheckFits(e.attrs().Float("eps")));
  if (!e.has(1) || !e.has(2)) return e.Unsupported("needs weight and bias");
  const OnnxAttr eps = {"epsilon", e.attrs().Float("eps")};
  const int64_t groups = e.Int("num_groups");
  Val y = nullptr;
  if (e.type().dim(1).Is(groups) && e.rank() >= 3) {
    y = e.Op("InstanceNormalization", {e.in(0), e.in(1), e.in(2)}, {eps});
  } else if (e.opset() >= 21) {
    y = e.Op("GroupNormalization", {e.in(0), e.in(1), e.in(2)}, {eps, {"num_groups", groups}});
  } else {
    return e.NeedsOpset(21);
  }
  e.SetOutput(0, y);
  return absl::OkStatus();
}

absl::Status ExportLocalResponseNorm(NodeExport& e) {
  for (const char* name : {"alpha", "beta", "k"}) {
    WEFT_RETURN_IF_ERROR(e.CheckFits(e.attrs().Float(name)));
  }
  e.SetOutput(0, e.Op("LRN", {e.in(0)},
                      {{"alpha", e.attrs().Float("alpha")},
                       {"beta", e.attrs().Float("beta")},
                       {"bias", e.attrs().Float("k")},
                       {"size", e.Int("size")}}));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> NnExports() {
  static const ExportEntry kEntries[] = {
      {&ops::batch_norm, ExportBatchNorm},
      {&ops::convolution, ExportConvolution, "",
       "symbolic attributes; integers that do not come from 16 bits"},
      {&ops::convolution_integer, ExportConvolutionInteger, "",
       "symbolic attributes, negative padding, transposed"},
      {&ops::deform_conv, ExportDeformConv, "", "needs opset 19"},
      {&ops::group_norm, ExportGroupNorm},
      {&ops::linear, ExportLinear},
      {&ops::local_response_norm, ExportLocalResponseNorm},
      {&ops::matmul, ExportDirect, "MatMul"},
      {&ops::matmul_integer, ExportMatmulInteger},
      {&ops::matmul_nbits, ExportMatmulNbitsOp, "",
       "groups that are no power of two of at least 16, scales of another dtype"},
      {&ops::native_layer_norm, ExportLayerNorm},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
