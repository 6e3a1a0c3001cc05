// Finds model-local functions and inlines their calls.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/unknown_field_set.h"
#include "serialize/onnx/import/import_model.h"

namespace weft::onnx_import {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::UnknownField;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

// Field numbers that are newer than Debian 12's onnx.proto.
constexpr int kNodeOverload = 8;
constexpr int kFunctionOverload = 13;
constexpr int kFunctionAttributeProto = 11;

// The bytes of a field, whether or not this build's proto has it.
std::vector<std::string> FieldBytes(const Message& message, int number) {
  std::vector<std::string> values;
  const auto* reflection = message.GetReflection();
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(number);
  if (field == nullptr) {
    const auto& unknown = reflection->GetUnknownFields(message);
    for (int i = 0; i < unknown.field_count(); ++i) {
      const UnknownField& f = unknown.field(i);
      if (f.number() != number) continue;
      if (f.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
      values.push_back(f.length_delimited());
    }
  } else if (field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      values.push_back(reflection->GetRepeatedMessage(message, field, i).SerializeAsString());
    }
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
             reflection->HasField(message, field)) {
    values.push_back(reflection->GetString(message, field));
  }
  return values;
}

std::string Key(absl::string_view domain, absl::string_view name,
                const std::vector<std::string>& overload) {
  return absl::StrCat(NormalizeDomain(domain), "\n", name, "\n",
                      overload.empty() ? "" : overload[0]);
}

std::string FunctionName(const FunctionProto& f) {
  return absl::StrCat(f.domain(), "::", f.name());
}

}  // namespace

absl::Status FunctionTable::Add(const FunctionProto& function) {
  Entry entry{&function, {}};
  for (const std::string& bytes : FieldBytes(function, kFunctionAttributeProto)) {
    AttributeProto attr;
    if (!attr.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("function ", FunctionName(function), ": a default attribute is malformed"));
    }
    entry.defaults.push_back(std::move(attr));
  }
  const std::string key =
      Key(function.domain(), function.name(), FieldBytes(function, kFunctionOverload));
  auto [it, inserted] = by_key_.emplace(key, std::move(entry));
  if (!inserted) {
    return absl::InvalidArgumentError(
        absl::StrCat("function ", FunctionName(function), " is defined twice"));
  }
  entries_[&function] = &it->second;
  return absl::OkStatus();
}

const FunctionProto* FunctionTable::Find(const NodeProto& node) const {
  if (by_key_.empty()) return nullptr;
  auto it = by_key_.find(Key(node.domain(), node.op_type(), FieldBytes(node, kNodeOverload)));
  return it == by_key_.end() ? nullptr : it->second.function;
}

const std::vector<AttributeProto>& FunctionTable::Defaults(const FunctionProto* function) const {
  static const auto* const none = new std::vector<AttributeProto>;
  auto it = entries_.find(function);
  return it == entries_.end() ? *none : it->second->defaults;
}

Opsets FunctionTable::OpsetsOf(const FunctionProto& function, const Opsets& model) const {
  Opsets opsets = model;
  for (const auto& import : function.opset_import()) {
    const int64_t version = import.version();
    opsets[NormalizeDomain(import.domain())] =
        static_cast<int>(std::min<int64_t>(std::max<int64_t>(version, 0), 1 << 30));
  }
  return opsets;
}

namespace {

absl::Status CheckRecursion(const FunctionFrame* caller, const FunctionProto& function) {
  const FunctionFrame* first = caller;
  while (first != nullptr && first->function != &function) first = first->caller;
  if (first == nullptr) return absl::OkStatus();
  std::string path = FunctionName(function);
  for (const FunctionFrame* f = caller; f != first->caller; f = f->caller) {
    path = absl::StrCat(FunctionName(*f->function), " -> ", path);
  }
  return absl::InvalidArgumentError(absl::StrCat("a function calls itself: ", path));
}

}  // namespace

std::string InlinedName(const FunctionFrame* frame, absl::string_view name) {
  constexpr size_t kMaxBytes = 1024;
  constexpr size_t kKept = 500;  // Characters kept at either end.
  if (frame == nullptr) return std::string(name);
  std::string full = absl::StrCat(frame->prefix, name);
  if (full.size() <= kMaxBytes) return full;
  return absl::StrCat(full.substr(0, kKept), "...", full.substr(full.size() - kKept));
}

absl::Status ModelImporter::CallFunction(NodeContext& c, const FunctionProto& function) {
  WEFT_RETURN_IF_ERROR(CheckRecursion(c.scope()->frame, function));
  if (c.num_inputs() > function.input_size()) {
    return c.Fail(absl::StrCat("function ", FunctionName(function), " takes ",
                               function.input_size(), " inputs, not ", c.num_inputs()));
  }
  if (c.scope()->depth >= options_.max_nesting) return TooDeep();
  FunctionFrame frame;
  frame.caller = c.scope()->frame;
  frame.function = &function;
  frame.opsets = functions_.OpsetsOf(function, opsets_);
  frame.prefix = InlinedName(frame.caller, NodeName(c.node()) + "/");
  for (const AttributeProto& attr : functions_.Defaults(&function)) {
    frame.attributes[attr.name()] = &attr;
  }
  for (const AttributeProto& attr : c.node().attribute()) {
    const AttributeProto* actual = c.Find(attr.name());
    if (actual != nullptr) frame.attributes[attr.name()] = actual;
  }
  Scope scope(nullptr, c.scope()->graph);
  scope.depth = c.scope()->depth + 1;
  scope.frame = &frame;
  scope.opsets = &frame.opsets;
  for (int i = 0; i < function.input_size(); ++i) {
    // A null value is an optional input that the call leaves out.
    WEFT_RETURN_IF_ERROR(Define(&scope, function.input(i), c.opt(i), c.narrow_type(i)));
  }
  WEFT_RETURN_IF_ERROR(ImportNodes(&scope, function.node()));
  for (int i = 0; i < function.output_size(); ++i) {
    if (!c.wants_output(i)) continue;
    WEFT_ASSIGN_OR_RETURN(Value * value, Lookup(&scope, function.output(i)));
    c.SetOutput(i, value);
    c.SetNarrowType(i, NarrowTypeOf(&scope, function.output(i)));
  }
  return absl::OkStatus();
}

}  // namespace weft::onnx_import
