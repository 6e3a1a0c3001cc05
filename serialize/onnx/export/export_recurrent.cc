// Recurrent layers: ONNX's own.

#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

absl::Status AddFloats(const NodeExport& e, const char* name, OnnxAttrs* attrs) {
  const std::vector<double>& values = e.attrs().Floats(name);
  for (double value : values) WEFT_RETURN_IF_ERROR(e.CheckFits(value));
  if (!values.empty()) attrs->push_back({name, values});
  return absl::OkStatus();
}

// `flag`: the layer's own attribute, if any, under its name in ONNX. Operand 4
// is the lengths, which are i32.
absl::Status ExportLayer(NodeExport& e, const char* flag) {
  OnnxAttrs attrs = {{"direction", e.attrs().Str("direction")},
                     {"hidden_size", e.Int("hidden_size")}};
  const auto& activations = e.attrs().Strs("activations");
  if (!activations.empty()) attrs.push_back({"activations", activations});
  WEFT_RETURN_IF_ERROR(AddFloats(e, "activation_alpha", &attrs));
  WEFT_RETURN_IF_ERROR(AddFloats(e, "activation_beta", &attrs));
  const double clip = e.attrs().Float("clip");
  WEFT_RETURN_IF_ERROR(e.CheckFits(clip));
  if (clip != 0) attrs.push_back({"clip", clip});
  if (flag != nullptr) attrs.push_back({flag, e.Flag(flag)});
  std::vector<Val> operands = e.ins();
  if (operands[4] != nullptr) operands[4] = e.Cast(operands[4], DType::kI32);
  std::vector<bool> wanted;
  for (int i = 0; i < e.node().num_results(); ++i) wanted.push_back(e.used(i));
  const std::vector<Val> results = e.w().Ops(e.op_type(), operands, attrs, wanted);
  for (size_t i = 0; i < results.size(); ++i) {
    e.SetOutput(static_cast<int>(i), results[i]);
  }
  return absl::OkStatus();
}

absl::Status ExportGru(NodeExport& e) { return ExportLayer(e, "linear_before_reset"); }
absl::Status ExportLstm(NodeExport& e) { return ExportLayer(e, "input_forget"); }
absl::Status ExportRnn(NodeExport& e) { return ExportLayer(e, nullptr); }

}  // namespace

absl::Span<const ExportEntry> RecurrentExports() {
  static const ExportEntry kEntries[] = {
      {&ops::gru, ExportGru, "GRU", "attributes that f32 rounds, of f64"},
      {&ops::lstm, ExportLstm, "LSTM", "attributes that f32 rounds, of f64"},
      {&ops::rnn, ExportRnn, "RNN", "attributes that f32 rounds, of f64"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
