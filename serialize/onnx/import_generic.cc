// Operators that have no theme: constants and copies.
#include "serialize/onnx/import_context.h"
#include "serialize/onnx/import_model.h"
#include "serialize/onnx/import_tables.h"

namespace weft::onnx_import {
namespace {

// Exactly one of the attributes gives the value.
absl::Status Constant(NodeContext& c) {
  if (c.node().attribute_size() != 1) {
    return c.Fail(absl::StrCat("one attribute gives the value, not ",
                               c.node().attribute_size()));
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
    return c.Unsupported(absl::StrCat("attribute \"",
                                      c.node().attribute(0).name(),
                                      "\" (sparse or string) is not supported"));
  }
  c.SetOutput(0, c.b().Constant(value));
  return c.status();
}

absl::Status Identity(NodeContext& c) {
  c.SetOutput(0, c.in(0));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, Constant},
    {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, Identity},
};

}  // namespace

absl::Span<const OnnxOp> GenericTable() { return kTable; }

}  // namespace weft::onnx_import
