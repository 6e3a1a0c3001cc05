// Fourier transforms, and other functions that ONNX has as they are.

#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

Val WriteDft(NodeExport& e, Val x, Val length, int64_t axis, OnnxAttrs attrs) {
  if (e.opset() >= 20) return e.Op("DFT", {x, length, e.IntScalar(axis)}, attrs);
  attrs.push_back({"axis", axis});
  return e.Op("DFT", {x, length}, attrs);
}

// The inverse transform of a whole spectrum, whose second half is the first one conjugated, in
// reverse order.
absl::Status ExportRealInverse(NodeExport& e) {
  const int64_t axis = e.Dim("axis", e.rank());
  const SymInt n = e.out_type().dim(static_cast<int>(axis));
  const SymInt half = FloorDiv(n, 2) + 1;
  if (e.facts().ProveEq(e.type().dim(static_cast<int>(axis)), half) != Proof::kYes) {
    return e.Unsupported("has no one-sided inverse form for another number of bins");
  }
  // Importers have to see that the slice begins within the spectrum.
  if (!n.is_constant()) {
    return e.Unsupported("has no one-sided inverse form for a symbolic number of bins");
  }
  Val mirrored =
      e.Op("Slice", {e.in(0), e.Size(n - half), e.Ints({0}), e.Ints({axis}), e.Ints({-1})});
  Val signs = e.w().Tensor(HostTensor::FromDoubles(e.dtype(), {2}, {1.0, -1.0}));
  Val whole = e.Op("Concat", {e.in(0), e.Op("Mul", {mirrored, signs})}, {{"axis", axis}});
  Val y = WriteDft(e, whole, nullptr, axis, {{"inverse", int64_t{1}}, {"onesided", int64_t{0}}});
  e.SetOutput(0, e.Op("Slice", {y, e.Ints({0}), e.Ints({1}), e.Ints({e.rank() - 1})}));
  return absl::OkStatus();
}

absl::Status ExportDft(NodeExport& e) {
  if (e.attrs().Bool("inverse") && e.attrs().Bool("onesided")) return ExportRealInverse(e);
  Val length = nullptr;
  if (e.attrs().Has("dft_length")) {
    length = e.ScalarSize(e.attrs().Sym("dft_length"));
  }
  const int64_t axis = e.Dim("axis", e.rank());
  e.SetOutput(0, WriteDft(e, e.in(0), length, axis,
                          {{"inverse", e.Flag("inverse")}, {"onesided", e.Flag("onesided")}}));
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
      {&ops::dft, ExportDft, "", "one-sided inverse transforms of other than n / 2 + 1 bins"},
      {&ops::mel_weight_matrix, ExportMelWeightMatrix},
      {&ops::nll_loss, ExportNllLoss},
      {&ops::stft, ExportStft},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
