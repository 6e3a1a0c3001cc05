#include "api/c/library/op_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/c/library/entries.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"
#include "graph/text/parts/text_parts.h"

namespace weft::c {
namespace {

// Texts lie in the attribute list, which lives as long as the process.
void Store(const AttrSpec& spec, const AttrValue& value, AttrStorage* storage) {
  weft_attr& attr = storage->value;
  attr.name = spec.name.c_str();
  if (const bool* boolean = value.get_if<bool>()) {
    attr.kind = WEFT_ATTR_BOOL;
    storage->ints.push_back(*boolean);
  } else if (const double* real = value.get_if<double>()) {
    attr.kind = WEFT_ATTR_FLOAT;
    storage->floats.push_back(*real);
  } else if (const std::string* text = value.get_if<std::string>()) {
    attr.kind = WEFT_ATTR_TEXT;
    storage->texts.push_back(text->c_str());
  } else if (const auto* reals = value.get_if<std::vector<double>>()) {
    attr.kind = WEFT_ATTR_FLOATS;
    storage->floats = *reals;
  } else if (const auto* texts = value.get_if<std::vector<std::string>>()) {
    attr.kind = WEFT_ATTR_TEXTS;
    for (const std::string& each : *texts) storage->texts.push_back(each.c_str());
  } else if (value.present()) {
    attr.kind = spec.kind == AttrKind::kInt ? WEFT_ATTR_INT : WEFT_ATTR_INTS;
    for (const SymInt each : value.symints()) storage->ints.push_back(each.value());
  }
  attr.count = static_cast<int32_t>(
      std::max({storage->ints.size(), storage->floats.size(), storage->texts.size()}));
  attr.ints = storage->ints.data();
  attr.floats = storage->floats.data();
  attr.texts = storage->texts.data();
}

}  // namespace

size_t OpCallNumOperands(const weft_op_call* call) {
  return call == nullptr ? 0 : call->num_operands();
}

const char* OpCallOperandType(const weft_op_call* call, size_t operand) {
  return call == nullptr ? nullptr : call->TypeText(operand);
}

const weft_attr* OpCallAttr(const weft_op_call* call, const char* name) {
  return call == nullptr || name == nullptr ? nullptr : call->Attr(name);
}

void OpCallSetType(weft_op_call* call, size_t result, const char* type) {
  if (call != nullptr) call->SetType(result, type);
}

const weft_tensor* OpCallOperand(const weft_op_call* call, size_t operand) {
  return call == nullptr ? nullptr : call->Operand(operand);
}

const weft_tensor* OpCallResult(const weft_op_call* call, size_t result) {
  return call == nullptr ? nullptr : call->Result(result);
}

void OpCallFail(weft_op_call* call, const char* message) {
  if (call == nullptr) return;
  call->Fail(absl::InvalidArgumentError(message != nullptr ? message : "the op failed"));
}

}  // namespace weft::c

weft_op_call::weft_op_call(weft::Attrs attrs, absl::Span<const weft::Type> operands,
                           size_t num_results)
    : attrs_(attrs), attr_values_(attrs.list()->size()), result_types_(num_results) {
  for (int i = 0; i < attrs.list()->size(); ++i) {
    weft::c::Store(attrs.schema().attrs[i], (*attrs.list())[i], &attr_values_[i]);
  }
  for (const weft::Type type : operands) {
    types_.push_back(type.is_tensor() ? type.ToString() : "");
    type.Substitute([this](weft::SymInt symbol) -> std::optional<weft::SymInt> {
      symbols_.insert(symbol);
      return std::nullopt;
    });
  }
}

void weft_op_call::SetTensors(std::vector<weft::HostTensor> operands,
                              std::vector<weft::HostTensor> results) {
  for (weft::HostTensor& tensor : operands) {
    operands_.push_back(tensor.valid() ? weft::c::ViewTensor(std::move(tensor)) : nullptr);
  }
  for (weft::HostTensor& tensor : results) {
    results_.push_back(weft::c::ViewTensor(std::move(tensor)));
  }
}

const char* weft_op_call::TypeText(size_t operand) const {
  return operand < types_.size() ? types_[operand].c_str() : nullptr;
}

const weft_attr* weft_op_call::Attr(const char* name) const {
  const int i = attrs_.schema().FindAttr(name);
  return i < 0 ? nullptr : &attr_values_[i].value;
}

absl::StatusOr<weft::Type> weft_op_call::ReadType(const char* text) const {
  if (text == nullptr) return absl::InvalidArgumentError("it is null");
  WEFT_ASSIGN_OR_RETURN(const weft::Type type, weft::ParseType(text));
  if (!type.is_tensor()) return absl::InvalidArgumentError("it is not a tensor's");
  std::string unknown;
  type.Substitute([&](weft::SymInt symbol) -> std::optional<weft::SymInt> {
    if (!symbols_.contains(symbol)) unknown = symbol.ToString();
    return std::nullopt;
  });
  if (unknown.empty()) return type;
  return absl::InvalidArgumentError(absl::StrCat("the operands' types have no symbol ", unknown));
}

void weft_op_call::SetType(size_t result, const char* type) {
  if (result >= result_types_.size()) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("a type was set for result ", result, " of ", result_types_.size())));
  }
  absl::StatusOr<weft::Type> read = ReadType(type);
  if (read.ok()) {
    result_types_[result] = *read;
    return;
  }
  Fail(absl::InvalidArgumentError(absl::StrCat("the type \"", type != nullptr ? type : "",
                                               "\" that was set for result ", result, ": ",
                                               read.status().message())));
}

const weft_tensor* weft_op_call::TensorAt(const Views& views, size_t i) {
  return i < views.size() && views[i] != nullptr ? &views[i]->tensor : nullptr;
}

absl::StatusOr<weft::Types> weft_op_call::TakeTypes() {
  WEFT_RETURN_IF_ERROR(status_);
  weft::Types types;
  for (size_t i = 0; i < result_types_.size(); ++i) {
    if (!result_types_[i]) {
      return absl::InvalidArgumentError(absl::StrCat("no type was set for result ", i));
    }
    types.push_back(*result_types_[i]);
  }
  return types;
}
