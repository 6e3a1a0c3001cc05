// Operators without a theme: constants and copies.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// Exactly one of the attributes gives the value.
absl::Status Constant(NodeContext& c) {
  if (c.node().attribute_size() != 1) {
    return c.Fail(absl::StrCat("one attribute gives the value, not ", c.node().attribute_size()));
  }
  const auto n = [](const auto& v) { return static_cast<int64_t>(v.size()); };
  HostTensor value;
  if (c.HasAttr("value")) {
    WEFT_ASSIGN_OR_RETURN(value, c.Tensor("value"));
  } else if (c.HasAttr("value_float")) {
    value = HostTensor::Scalar(DType::kF32, c.Float("value_float", 0));
  } else if (c.HasAttr("value_floats")) {
    const auto v = c.Floats("value_floats");
    value = HostTensor::FromDoubles(DType::kF32, {n(v)}, v);
  } else if (c.HasAttr("value_int")) {
    value = HostTensor::ScalarInt(DType::kI64, c.Int("value_int", 0));
  } else if (c.HasAttr("value_ints")) {
    const auto v = c.Ints("value_ints");
    value = HostTensor::FromInts(DType::kI64, {n(v)}, v);
  } else {
    return c.Unsupported(absl::StrCat("attribute \"", c.node().attribute(0).name(),
                                      "\" (sparse or string) is not supported"));
  }
  c.SetOutput(0, c.b().Constant(value));
  return c.status();
}

absl::Status Identity(NodeContext& c) {
  c.SetOutput(0, c.in(0));
  return c.status();
}

// True if a Dropout has an effect. Before opset 12 it never has in inference; later an input
// decides, and a ratio of 0 has none.
absl::StatusOr<bool> Drops(NodeContext& c) {
  if (c.opset() < 12 || !c.has_input(2)) return false;
  WEFT_ASSIGN_OR_RETURN(const HostTensor training, c.RequireConstant(2));
  if (training.numel() != 1 || IsComplex(training.dtype())) {
    return c.Fail("training_mode must be one bool");
  }
  if (training.DoubleAt(0) == 0) return false;
  if (!c.has_input(1)) return true;  // The default ratio is 0.5.
  WEFT_ASSIGN_OR_RETURN(const double ratio, c.RequireConstantFloat(1));
  return ratio != 0;
}

// The mask, if it is an output, is all true. It has the input's type before opset 10.
absl::Status Dropout(NodeContext& c) {
  c.Ignore({"ratio", "seed"});
  if (c.opset() < 7 && !c.Bool("is_test", false)) {
    return c.Unsupported("is_test is not set: training mode is random");
  }
  WEFT_ASSIGN_OR_RETURN(const bool drops, Drops(c));
  if (drops) return c.Unsupported("training mode is random");
  c.SetOutput(0, c.in(0));
  if (c.wants_output(1)) {
    const DType dtype = c.opset() < 10 ? c.dtype(0) : DType::kBool;
    c.SetOutput(1, Expand(c, ScalarOf(c, dtype, 1), Dims(c.in(0))));
  }
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, Constant},
    {"Dropout", {6, 7, 10, 12, 13, 22}, Dropout},
    {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, Identity},
};

}  // namespace

absl::Span<const OnnxOp> GenericTable() { return kTable; }

}  // namespace weft::onnx_import
