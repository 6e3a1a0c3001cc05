// Fourier transforms and windows; also determinants and Einstein sums, which only map to an op.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

constexpr double kTwoPi = 6.28318530717958647692;

absl::Status Dft(NodeContext& c) {
  int64_t axis = c.opset() < 20 ? c.Int("axis", 1) : -2;
  if (c.opset() >= 20 && c.has_input(2)) {
    WEFT_ASSIGN_OR_RETURN(axis, c.RequireConstantInt(2));
  }
  AttrValue length;
  if (c.has_input(1)) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> given, c.SizesFromTensor(1));
    if (given.size() != 1) return c.Fail("dft_length must be one number");
    length = given[0];
  }
  c.SetOutput(0, c.Op(ops::dft, {c.in(0)},
                      {{"dft_length", length},
                       {"axis", axis},
                       {"inverse", c.Bool("inverse", false)},
                       {"onesided", c.Bool("onesided", false)}}));
  return c.status();
}

absl::Status Stft(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> step, c.SizesFromTensor(1));
  const Type signal = c.type(0);
  if (signal.rank() != 3) {
    return c.Fail(absl::StrCat("the signal must have rank 3, got ", signal.ToString()));
  }
  std::vector<SymInt> length = {signal.dim(1)};
  if (c.has_input(3)) {
    WEFT_ASSIGN_OR_RETURN(length, c.SizesFromTensor(3));
  } else if (c.has_input(2) && c.rank(2) == 1) {
    length = {c.type(2).dim(0)};
  }
  if (step.size() != 1 || length.size() != 1) {
    return c.Fail("frame_step and frame_length must be one number each");
  }
  c.SetOutput(0, c.Op(ops::stft, {c.in(0), c.opt(2)},
                      {{"frame_step", step[0]},
                       {"frame_length", length[0]},
                       {"onesided", c.Bool("onesided", true)}}));
  return c.status();
}

absl::Status MelWeightMatrix(NodeContext& c) {
  std::vector<Value*> operands;
  for (int i = 0; i < 5; ++i) operands.push_back(AsScalar(c, c.in(i)));
  const NamedAttr attrs[] = {{"dtype", c.Dtype("output_datatype", DType::kF32)}};
  c.SetOutput(0, c.b().Op(ops::mel_weight_matrix, operands, attrs));
  return c.status();
}

// a0 - a1 * cos(2*pi*n/N) + a2 * cos(4*pi*n/N), in f64 and rounded once. N is the size, minus one
// for symmetric windows.
absl::Status CosineWindow(NodeContext& c, double a0, double a1, double a2) {
  const DType dtype = c.Dtype("output_datatype", DType::kF32);
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> size, c.SizesFromTensor(0));
  if (size.size() != 1) return c.Fail("size must be one number");
  const SymInt period = c.Bool("periodic", true) ? size[0] : size[0] - 1;
  const auto to_f64 = [&](Value* v) { return ops::BuildConvert(c, v, DType::kF64); };
  const auto f64 = [&](double v) { return ScalarOf(c, DType::kF64, v); };
  Value* n = to_f64(Iota(c, size[0]));
  Value* turn =
      c.Op(ops::div, {c.Op(ops::mul, {n, f64(kTwoPi)}), to_f64(SymTensor(c, {period}, {}))});
  Value* window = c.Op(ops::sub, {f64(a0), c.Op(ops::mul, {c.Op(ops::cos, {turn}), f64(a1)})});
  if (a2 != 0) {
    Value* twice = c.Op(ops::cos, {c.Op(ops::mul, {turn, f64(2)})});
    window = c.Op(ops::add, {window, c.Op(ops::mul, {twice, f64(a2)})});
  }
  c.SetOutput(0, ops::BuildConvert(c, window, dtype));
  return c.status();
}

absl::Status HannWindow(NodeContext& c) { return CosineWindow(c, 0.5, 0.5, 0); }
absl::Status HammingWindow(NodeContext& c) { return CosineWindow(c, 25.0 / 46, 21.0 / 46, 0); }
absl::Status BlackmanWindow(NodeContext& c) { return CosineWindow(c, 0.42, 0.5, 0.08); }

absl::Status Det(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::det, {c.in(0)}));
  return c.status();
}

absl::Status Einsum(NodeContext& c) {
  const NamedAttr attrs[] = {{"equation", c.Str("equation", "")}};
  c.SetOutput(0, c.b().Op(ops::einsum, c.all_inputs(), attrs));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"BlackmanWindow", {17}, BlackmanWindow},
    {"DFT", {17, 20}, Dft},
    {"Det", {11, 22}, Det},
    {"Einsum", {12}, Einsum},
    {"HammingWindow", {17}, HammingWindow},
    {"HannWindow", {17}, HannWindow},
    {"MelWeightMatrix", {17}, MelWeightMatrix},
    {"STFT", {17}, Stft},
};

}  // namespace

absl::Span<const OnnxOp> SignalTable() { return kTable; }

}  // namespace weft::onnx_import
