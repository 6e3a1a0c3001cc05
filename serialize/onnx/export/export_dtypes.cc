#include "serialize/onnx/export/export_dtypes.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"

namespace weft::onnx_export {
namespace {

struct OnnxType {
  DType dtype;
  const char* name;  // In schemas; null: libonnx 1.12 does not know it.
  int number;        // TensorProto.DataType; 0: none.
  int opset;
};

// In the order of DType.
constexpr OnnxType kTypes[kNumDTypes] = {
    {DType::kBool, "tensor(bool)", 9, 1},
    {DType::kU4, nullptr, 21, 21},
    {DType::kU8, "tensor(uint8)", 2, 1},
    {DType::kU16, "tensor(uint16)", 4, 1},
    {DType::kU32, "tensor(uint32)", 12, 1},
    {DType::kU64, "tensor(uint64)", 13, 1},
    {DType::kI4, nullptr, 22, 21},
    {DType::kI8, "tensor(int8)", 3, 1},
    {DType::kI16, "tensor(int16)", 5, 1},
    {DType::kI32, "tensor(int32)", 6, 1},
    {DType::kI64, "tensor(int64)", 7, 1},
    {DType::kF8E4M3, nullptr, 17, 19},
    {DType::kF8E5M2, nullptr, 19, 19},
    {DType::kF8E4M3FNUZ, nullptr, 18, 19},
    {DType::kF8E5M2FNUZ, nullptr, 20, 19},
    {DType::kF16, "tensor(float16)", 10, 1},
    {DType::kBF16, "tensor(bfloat16)", 16, 1},
    {DType::kF32, "tensor(float)", 1, 1},
    {DType::kF64, "tensor(double)", 11, 1},
    {DType::kC32, nullptr, 0, 0},
    {DType::kC64, "tensor(complex64)", 14, 1},
    {DType::kC128, "tensor(complex128)", 15, 1},
    {DType::kF4E2M1, nullptr, 23, 23},
    {DType::kF8E8M0, nullptr, 24, 24},
};

uint32_t Bit(DType dtype) { return 1u << static_cast<int>(dtype); }

// The first of the dtypes that hold every value of `dtype` and is in `allowed`.
std::optional<DType> Widen(DType dtype, uint32_t allowed) {
  std::vector<DType> candidates;
  if (IsFloat(dtype)) {
    if (dtype != DType::kF64) candidates = {DType::kF32, DType::kF64};
  } else if (dtype == DType::kBool) {
    candidates = {DType::kU8, DType::kI32, DType::kI64};
  } else if (dtype == DType::kU32) {
    candidates = {DType::kI64, DType::kU64};
  } else if (dtype == DType::kI32) {
    candidates = {DType::kI64};
  } else if (IsInt(dtype) && DTypeBits(dtype) < 32) {
    candidates = {DType::kI32, DType::kI64};
  }
  for (DType candidate : candidates) {
    if (candidate != dtype && (allowed & Bit(candidate))) return candidate;
  }
  return std::nullopt;
}

uint32_t AllowedSet(const onnx::OpSchema::FormalParameter& parameter) {
  uint32_t set = 0;
  for (const OnnxType& type : kTypes) {
    if (type.name == nullptr) continue;
    const onnx::DataType known = onnx::Utils::DataTypeUtils::ToType(type.name);
    if (parameter.GetTypes().count(known)) set |= Bit(type.dtype);
  }
  return set;
}

std::optional<DType> OnlyMember(uint32_t set) {
  for (const OnnxType& type : kTypes) {
    if (set == Bit(type.dtype)) return type.dtype;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int> OnnxDataType(DType dtype, int opset) {
  const OnnxType& type = kTypes[static_cast<int>(dtype)];
  if (type.number == 0) {
    return absl::UnimplementedError(
        absl::StrCat("has element type ", DTypeName(dtype), ", which ONNX lacks"));
  }
  if (opset < type.opset) {
    return absl::UnimplementedError(
        absl::StrCat("has element type ", DTypeName(dtype), ", which needs opset ", type.opset));
  }
  return type.number;
}

int OpsetOfDtype(DType dtype) { return kTypes[static_cast<int>(dtype)].opset; }

const OperatorSchemas::Operator& OperatorSchemas::Find(absl::string_view op_type) {
  const auto [it, inserted] = operators_.try_emplace(std::string(op_type));
  Operator& op = it->second;
  if (!inserted) return op;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(it->first, opset_);
  if (schema == nullptr) return op;
  op.known = true;
  std::vector<std::string> variables;
  const auto add = [&](const std::vector<onnx::OpSchema::FormalParameter>& from,
                       std::vector<Parameter>* to) {
    for (const auto& formal : from) {
      Parameter parameter;
      parameter.allowed = AllowedSet(formal);
      const std::string& name = formal.GetTypeStr();
      if (name.find('(') == std::string::npos) {
        const auto at = std::find(variables.begin(), variables.end(), name);
        parameter.variable = static_cast<int>(at - variables.begin());
        if (at == variables.end()) variables.push_back(name);
      }
      to->push_back(parameter);
    }
  };
  add(schema->inputs(), &op.inputs);
  add(schema->outputs(), &op.outputs);
  op.num_variables = static_cast<int>(variables.size());
  op.variadic =
      !schema->inputs().empty() && schema->inputs().back().GetOption() == onnx::OpSchema::Variadic;
  return op;
}

absl::StatusOr<OperatorTypes> OperatorSchemas::Types(absl::string_view op_type,
                                                     absl::Span<const std::optional<DType>> inputs,
                                                     int num_outputs, std::optional<DType> output) {
  const Operator& op = Find(op_type);
  // Of each variable: what the inputs have, and what the operator gets.
  std::vector<std::optional<DType>> given(op.num_variables);
  std::vector<std::optional<DType>> used(op.num_variables);
  OperatorTypes types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.inputs.push_back(inputs[i].value_or(DType::kBool));
    if (!inputs[i] || op.inputs.empty()) continue;
    const size_t formal = op.variadic ? std::min(i, op.inputs.size() - 1) : i;
    if (formal >= op.inputs.size()) continue;
    const Parameter& parameter = op.inputs[formal];
    const bool allowed = parameter.allowed & Bit(*inputs[i]);
    const std::optional<DType> use = allowed ? inputs[i] : Widen(*inputs[i], parameter.allowed);
    if (!use) {
      return absl::UnimplementedError(absl::StrCat("would be ", op_type, ", which does not take ",
                                                   DTypeName(*inputs[i]), " as input ", i));
    }
    types.inputs[i] = *use;
    if (parameter.variable >= 0 && !given[parameter.variable]) {
      given[parameter.variable] = inputs[i];
      used[parameter.variable] = use;
    }
  }
  for (int i = 0; i < num_outputs; ++i) {
    std::optional<DType> raw = output;
    std::optional<DType> final = output;
    if (!op.known || op.outputs.empty()) {
      if (!raw && !inputs.empty()) raw = final = inputs[0];
    } else {
      const Parameter& parameter = op.outputs[std::min<size_t>(i, op.outputs.size() - 1)];
      const int variable = parameter.variable;
      if (variable >= 0 && given[variable]) {
        raw = used[variable];
        final = given[variable];
      } else if (const auto only = OnlyMember(parameter.allowed)) {
        raw = final = only;
      } else if (output && !(parameter.allowed & Bit(*output))) {
        raw = Widen(*output, parameter.allowed);
      }
    }
    if (!raw || !final) {
      return absl::UnimplementedError(
          absl::StrCat("would be ", op_type, ", whose output ", i, " does not have the dtype"));
    }
    types.raw_outputs.push_back(*raw);
    types.outputs.push_back(*final);
  }
  return types;
}

}  // namespace weft::onnx_export
