// Fourier transforms, and other functions that ONNX has as they are.

#include "graph/ops/ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

absl::Status ExportDft(NodeExport& e) {
  if (e.attrs().Bool("inverse") && e.attrs().Bool("onesided")) {
    return e.Unsupported("has no form that is one-sided and inverse");
  }
  Val length = nullptr;
  if (e.attrs().Has("dft_length")) {
    length = e.ScalarSize(e.attrs().Sym("dft_length"));
  }
  const int64_t axis = e.Dim("axis", e.rank());
  OnnxAttrs attrs = {{"inverse", e.Flag("inverse")}, {"onesided", e.Flag("onesided")}};
  Val y = nullptr;
  if (e.opset() >= 20) {
    y = e.Op("DFT", {e.in(0), length, e.IntScalar(axis)}, attrs);
  } else {
    attrs.push_back({"axis", axis});
    y = e.Op("DFT", {e.in(0), length}, attrs);
  }
  e.SetOutput(0, y);
  return absl::OkStatus();
}

absl::Status ExportStft(NodeExport& e) {
  e.SetOutput(0, e.Op("STFT",
                      {e.in(0), e.ScalarSize(e.attrs().Sym("frame_step")), e.in(1),
                       e.ScalarSize(e.attrs().Sym("frame_length"))},
                      {{"onesided", e.Flag("onesided")}}));
  return absl::OkStatus();
}

absl::Status ExportMelWeightMatrix(NodeExport& e) {
  const DType dtype = e.out_type().dtype();
  e.SetOutput(0, e.w().Op("MelWeightMatrix", e.ins(),
                          {{"output_datatype", int64_t{e.w().model().DataType(dtype)}}}, dtype));
  return absl::OkStatus();
}

absl::Status ExportNllLoss(NodeExport& e) {
  OnnxAttrs attrs = {{"reduction", e.attrs().Str("reduction")}};
  if (e.attrs().Has("ignore_index")) {
    attrs.push_back({"ignore_index", e.Int("ignore_index")});
  }
  e.SetOutput(0, e.Op("NegativeLogLikelihoodLoss", {e.in(0), e.in(1), e.in(2)}, attrs));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> SignalExports() {
  static const ExportEntry kEntries[] = {
      {&ops::det, ExportDirect, "Det"},
      {&ops::dft, ExportDft, "", "one-sided inverse transforms"},
      {&ops::mel_weight_matrix, ExportMelWeightMatrix},
      {&ops::nll_loss, ExportNllLoss},
      {&ops::stft, ExportStft},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
