// Functions of one operand.

#include <cmath>

#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// --- Identities on some dtypes ---------------------------------------------------

// Rounding to integers.
absl::Status ExportRounding(NodeExport& e) {
  if (!IsFloat(e.dtype())) {
    e.SetOutput(0, e.in(0));
    return absl::OkStatus();
  }
  return ExportDirect(e);
}

absl::Status ExportRelu(NodeExport& e) {
  if (IsUnsignedInt(e.dtype())) {
    e.SetOutput(0, e.in(0));
    return absl::OkStatus();
  }
  return ExportDirect(e);
}

absl::Status ExportNeg(NodeExport& e) {
  if (e.dtype() != DType::kU64) return ExportDirect(e);
  e.SetOutput(0, e.Op("Sub", {e.Scalar(DType::kU64, 0), e.in(0)}));
  return absl::OkStatus();
}

// ONNX does not say what the sign of NaN is; here it is 0.
absl::Status ExportSign(NodeExport& e) {
  if (!IsFloat(e.dtype())) return ExportDirect(e);
  Val nan = e.Op("IsNaN", {e.in(0)});
  e.SetOutput(0, e.Op("Where", {nan, e.Scalar(e.dtype(), 0), e.Op("Sign", {e.in(0)})}));
  return absl::OkStatus();
}

// --- Compositions -----------------------------------------------------------------

// The calculation in f32 for narrower floats: one rounding at the end.
Val Wide(NodeExport& e, int i = 0) {
  return e.Cast(e.in(i), e.dtype(i) == DType::kF64 ? DType::kF64 : DType::kF32);
}

void SetNarrow(NodeExport& e, Val val) { e.SetOutput(0, e.Cast(val, e.out_type().dtype())); }

// Toward zero, with the sign of zero.
absl::Status ExportTrunc(NodeExport& e) {
  if (!IsFloat(e.dtype())) {
    e.SetOutput(0, e.in(0));
    return absl::OkStatus();
  }
  Val x = e.in(0);
  Val negative = e.Op("Less", {x, e.Scalar(e.dtype(), 0)});
  e.SetOutput(0, e.Op("Where", {negative, e.Op("Ceil", {x}), e.Op("Floor", {x})}));
  return absl::OkStatus();
}

// exp(x) - 1 = tanh(x/2) * (exp(x) + 1), which is precise near 0.
absl::Status ExportExpm1(NodeExport& e) {
  Val x = Wide(e);
  Val half = e.Op("Mul", {x, e.Scalar(x->dtype, 0.5)});
  Val sum = e.Op("Add", {e.Op("Exp", {x}), e.Scalar(x->dtype, 1)});
  SetNarrow(e, e.Op("Mul", {e.Op("Tanh", {half}), sum}));
  return absl::OkStatus();
}

// log(1 + x) = 2 * atanh(x / (2 + x)) near 0, as it stands elsewhere.
absl::Status ExportLog1p(NodeExport& e) {
  Val x = Wide(e);
  const DType dtype = x->dtype;
  Val ratio = e.Op("Div", {x, e.Op("Add", {x, e.Scalar(dtype, 2)})});
  Val small = e.Op("Mul", {e.Op("Atanh", {ratio}), e.Scalar(dtype, 2)});
  Val large = e.Op("Log", {e.Op("Add", {x, e.Scalar(dtype, 1)})});
  Val near = e.Op("Less", {e.Op("Abs", {x}), e.Scalar(dtype, 0.5)});
  SetNarrow(e, e.Op("Where", {near, small, large}));
  return absl::OkStatus();
}

absl::Status ExportLog2(NodeExport& e) {
  Val x = Wide(e);
  SetNarrow(e, e.Op("Div", {e.Op("Log", {x}), e.Scalar(x->dtype, std::log(2.0))}));
  return absl::OkStatus();
}

absl::Status ExportRsqrt(NodeExport& e) {
  SetNarrow(e, e.Op("Reciprocal", {e.Op("Sqrt", {Wide(e)})}));
  return absl::OkStatus();
}

// --- Predicates, logic, bits --------------------------------------------------------

// False for every element of an integer or bool tensor.
void SetNowhere(NodeExport& e) { e.SetOutput(0, e.Op("Not", {e.Op("Equal", {e.in(0), e.in(0)})})); }

absl::Status ExportIsNan(NodeExport& e) {
  if (IsFloat(e.dtype())) return ExportDirect(e);
  SetNowhere(e);
  return absl::OkStatus();
}

absl::Status ExportIsInf(NodeExport& e) {
  if (IsFloat(e.dtype())) {
    e.SetOutput(0, e.Op("IsInf", {e.in(0)},
                        {{"detect_negative", e.Flag("detect_negative")},
                         {"detect_positive", e.Flag("detect_positive")}}));
  } else {
    SetNowhere(e);
  }
  return absl::OkStatus();
}

absl::Status ExportLogicalNot(NodeExport& e) {
  e.SetOutput(0, e.Op("Not", {e.Cast(e.in(0), DType::kBool)}));
  return absl::OkStatus();
}

// ~x = -1 - x, of unsigned integers the largest one - x.
absl::Status ExportBitwiseNot(NodeExport& e) {
  Val x = e.in(0);
  if (e.dtype() == DType::kBool) {
    e.SetOutput(0, e.Op("Not", {x}));
  } else if (e.opset() >= 18) {
    e.SetOutput(0, e.Op("BitwiseNot", {x}));
  } else {
    Val ones = e.w().Tensor(HostTensor::ScalarInt(e.dtype(), -1));
    e.SetOutput(0, e.Op("Sub", {ones, x}));
  }
  return absl::OkStatus();
}

absl::Status ExportConvert(NodeExport& e) {
  const DType to = e.out_type().dtype();
  const bool complex = IsComplex(e.dtype()) || IsComplex(to);
  if (complex && e.dtype() != to) {
    return e.Unsupported("has no form for complex numbers: Cast takes none");
  }
  if (e.attrs().Bool("saturate") || DTypeBits(to) != 8 || !IsFloat(to)) {
    e.SetOutput(0, e.Cast(e.in(0), to));
  } else {
    OnnxAttrs attrs = {{"saturate", 0}, {"to", int64_t{e.w().model().DataType(to)}}};
    if (to == DType::kF8E8M0) attrs.push_back({"round_mode", "nearest"});
    e.SetOutput(0, e.w().OpAs("Cast", {e.in(0)}, attrs, to));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> ElementwiseExports() {
  static const ExportEntry kEntries[] = {
      {&ops::abs, ExportDirect, "Abs"},
      {&ops::acos, ExportDirect, "Acos"},
      {&ops::acosh, ExportDirect, "Acosh"},
      {&ops::asin, ExportDirect, "Asin"},
      {&ops::asinh, ExportDirect, "Asinh"},
      {&ops::atan, ExportDirect, "Atan"},
      {&ops::atanh, ExportDirect, "Atanh"},
      {&ops::bitwise_not, ExportBitwiseNot},
      {&ops::ceil, ExportRounding, "Ceil"},
      {&ops::convert, ExportConvert, "",
       "complex numbers; floats outside of an integer dtype's range are "
       "undefined in ONNX"},
      {&ops::cos, ExportDirect, "Cos"},
      {&ops::cosh, ExportDirect, "Cosh"},
      {&ops::erf, ExportDirect, "Erf"},
      {&ops::exp, ExportDirect, "Exp"},
      {&ops::expm1, ExportExpm1},
      {&ops::floor, ExportRounding, "Floor"},
      {&ops::isinf, ExportIsInf},
      {&ops::isnan, ExportIsNan, "IsNaN"},
      {&ops::log, ExportDirect, "Log"},
      {&ops::log1p, ExportLog1p},
      {&ops::log2, ExportLog2},
      {&ops::logical_not, ExportLogicalNot},
      {&ops::neg, ExportNeg, "Neg"},
      {&ops::reciprocal, ExportDirect, "Reciprocal"},
      {&ops::relu, ExportRelu, "Relu"},
      {&ops::round, ExportRounding, "Round"},
      {&ops::rsqrt, ExportRsqrt},
      {&ops::sigmoid, ExportDirect, "Sigmoid"},
      {&ops::sign, ExportSign, "Sign"},
      {&ops::sin, ExportDirect, "Sin"},
      {&ops::sinh, ExportDirect, "Sinh"},
      {&ops::sqrt, ExportDirect, "Sqrt"},
      {&ops::tan, ExportDirect, "Tan"},
      {&ops::tanh, ExportDirect, "Tanh"},
      {&ops::trunc, ExportTrunc},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
