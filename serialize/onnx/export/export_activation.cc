// Activations. Those that ONNX lacks are decomposed.

#include "base/status_macros.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// `op_type` with the named float attributes, which it has under `names`.
absl::Status WithFloats(NodeExport& e, std::initializer_list<absl::string_view> attrs,
                        std::initializer_list<absl::string_view> names) {
  OnnxAttrs onnx_attrs;
  auto name = names.begin();
  for (absl::string_view attr : attrs) {
    const double value = e.attrs().Float(attr);
    WEFT_RETURN_IF_ERROR(e.CheckFits(value));
    onnx_attrs.push_back({*name++, value});
  }
  e.SetOutput(0, e.Op(e.op_type(), {e.in(0)}, onnx_attrs));
  return absl::OkStatus();
}

absl::Status ExportAlpha(NodeExport& e) { return WithFloats(e, {"alpha"}, {"alpha"}); }

absl::Status ExportElu(NodeExport& e) {
  if (e.attrs().Float("scale") != 1 || e.attrs().Float("input_scale") != 1) {
    return e.Unsupported("has no form with scales");
  }
  return ExportAlpha(e);
}

absl::Status ExportSelu(NodeExport& e) {
  return WithFloats(e, {"alpha", "gamma"}, {"alpha", "gamma"});
}

absl::Status ExportHardSigmoid(NodeExport& e) {
  return WithFloats(e, {"alpha", "beta"}, {"alpha", "beta"});
}

absl::Status ExportHardTanh(NodeExport& e) {
  e.SetOutput(0, e.Op("Clip", {e.in(0), e.Scalar(e.dtype(), e.attrs().Float("min_val")),
                               e.Scalar(e.dtype(), e.attrs().Float("max_val"))}));
  return absl::OkStatus();
}

absl::Status ExportLeakyRelu(NodeExport& e) { return WithFloats(e, {"negative_slope"}, {"alpha"}); }

absl::Status ExportShrink(NodeExport& e) {
  return WithFloats(e, {"lambd", "bias"}, {"lambd", "bias"});
}

// The slope broadcasts to the operand alone.
absl::Status ExportPrelu(NodeExport& e) {
  if (e.out_type().dims() != e.type().dims()) {
    return e.Unsupported("has no form with a weight larger than the operand");
  }
  return ExportDirect(e);
}

absl::Status ExportGelu(NodeExport& e) {
  if (e.opset() < 20) return e.NeedsOpset(20);
  e.SetOutput(0, e.Op("Gelu", {e.in(0)}, {{"approximate", e.attrs().Str("approximate")}}));
  return absl::OkStatus();
}

absl::Status ExportMish(NodeExport& e) {
  if (e.opset() >= 18) return ExportDirect(e);
  Val x = e.Cast(e.in(0), e.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
  Val y = e.Op("Mul", {x, e.Op("Tanh", {e.Op("Softplus", {x})})});
  e.SetOutput(0, e.Cast(y, e.dtype()));
  return absl::OkStatus();
}

// Above a threshold of 20, f32 and narrower floats do not tell softplus(x) from
// x; f64 does not from 37 on.
absl::Status ExportSoftplus(NodeExport& e) {
  const double enough = e.dtype() == DType::kF64 ? 37 : 20;
  if (e.attrs().Float("beta") != 1 || e.attrs().Float("threshold") < enough) {
    return e.Unsupported("has no form with this beta and threshold");
  }
  return ExportDirect(e);
}

}  // namespace

absl::Span<const ExportEntry> ActivationExports() {
  static const ExportEntry kEntries[] = {
      {&ops::celu, ExportAlpha, "Celu"},
      {&ops::elu, ExportElu, "Elu"},
      {&ops::gelu, ExportGelu, "Gelu"},
      {&ops::hardsigmoid, ExportHardSigmoid, "HardSigmoid"},
      {&ops::hardswish, ExportDirect, "HardSwish"},
      {&ops::hardtanh, ExportHardTanh},
      {&ops::leaky_relu, ExportLeakyRelu, "LeakyRelu"},
      {&ops::mish, ExportMish, "Mish"},
      {&ops::prelu, ExportPrelu, "PRelu"},
      {&ops::selu, ExportSelu, "Selu"},
      {&ops::shrink, ExportShrink, "Shrink"},
      {&ops::softplus, ExportSoftplus, "Softplus"},
      {&ops::softsign, ExportDirect, "Softsign"},
      {&ops::thresholded_relu, ExportAlpha, "ThresholdedRelu"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
