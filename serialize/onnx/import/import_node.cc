// NodeContext: attributes, inputs and outputs of one node.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/narrow_types.h"

namespace weft::onnx_import {

using ::onnx::AttributeProto;

Type TypeOf(const Value* v) { return v == nullptr ? Type::Scalar(DType::kF32) : v->type(); }

NodeContext::NodeContext(ModelImporter* importer, Scope* scope, const ::onnx::NodeProto& node,
                         int opset)
    : importer_(importer),
      scope_(scope),
      node_(node),
      opset_(opset),
      outputs_(node.output_size()),
      narrow_outputs_(node.output_size()),
      attrs_read_(node.attribute_size()) {}

std::string NodeContext::Describe() const { return DescribeNode(node_); }

Builder& NodeContext::b() { return scope_->builder; }

// --- Errors -----------------------------------------------------------------

const absl::Status& NodeContext::status() const { return scope_->builder.status(); }

void NodeContext::Record(absl::string_view message) {
  b().Fail(absl::InvalidArgumentError(message));
}

absl::Status NodeContext::Fail(absl::string_view message) {
  Record(message);
  return status();
}

absl::Status NodeContext::Unsupported(absl::string_view message) {
  b().Fail(absl::UnimplementedError(message));
  return status();
}

absl::Status NodeContext::Finish(absl::Status returned) {
  WEFT_RETURN_IF_ERROR(returned);
  WEFT_RETURN_IF_ERROR(status());
  for (int i = 0; i < node_.attribute_size(); ++i) {
    if (attrs_read_[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("attribute \"", node_.attribute(i).name(),
                                                   "\" is not one of ", op_type(), " in opset ",
                                                   opset_));
  }
  for (int i = 0; i < num_outputs(); ++i) {
    if (!wants_output(i) || outputs_[i] != nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(op_type(), " has no output ", i, " ('",
                                                   node_.output(i), "') in opset ", opset_));
  }
  return absl::OkStatus();
}

// --- Attributes -------------------------------------------------------------

namespace {

// Messages of IR versions before 2 do not have the type.
AttributeProto::AttributeType TypeOfAttribute(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size() > 0) return AttributeProto::FLOATS;
  if (a.ints_size() > 0) return AttributeProto::INTS;
  if (a.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

bool IsListType(AttributeProto::AttributeType type) {
  return type == AttributeProto::FLOATS || type == AttributeProto::INTS ||
         type == AttributeProto::STRINGS;
}

}  // namespace

const AttributeProto* NodeContext::Find(absl::string_view name) {
  for (int i = 0; i < node_.attribute_size(); ++i) {
    const AttributeProto& attr = node_.attribute(i);
    if (attr.name() != name) continue;
    attrs_read_[i] = true;
    if (attr.ref_attr_name().empty()) return &attr;
    if (scope_->frame == nullptr) {
      Record(absl::StrCat("attribute \"", name,
                          "\" refers to a function's attribute, but the node is "
                          "in no function"));
      return nullptr;
    }
    const auto& actual = scope_->frame->attributes;
    auto it = actual.find(attr.ref_attr_name());
    return it == actual.end() ? nullptr : it->second;
  }
  return nullptr;
}

const AttributeProto* NodeContext::Find(absl::string_view name, AttributeType type) {
  const AttributeProto* attr = Find(name);
  if (attr == nullptr) return nullptr;
  const AttributeType actual = TypeOfAttribute(*attr);
  if (actual == type) return attr;
  // An empty list has no type.
  if (actual == AttributeProto::UNDEFINED && IsListType(type)) return attr;
  Record(absl::StrCat("attribute \"", name, "\" is ", AttributeProto::AttributeType_Name(actual),
                      ", not ", AttributeProto::AttributeType_Name(type)));
  return nullptr;
}

bool NodeContext::HasAttr(absl::string_view name) { return Find(name) != nullptr; }

int64_t NodeContext::Int(absl::string_view name, int64_t default_value) {
  const AttributeProto* a = Find(name, AttributeProto::INT);
  return a == nullptr ? default_value : a->i();
}

bool NodeContext::Bool(absl::string_view name, bool default_value) {
  return Int(name, default_value) != 0;
}

double NodeContext::Float(absl::string_view name, double default_value) {
  const AttributeProto* a = Find(name, AttributeProto::FLOAT);
  return a == nullptr ? static_cast<float>(default_value) : a->f();
}

std::string NodeContext::Str(absl::string_view name, absl::string_view default_value) {
  const AttributeProto* a = Find(name, AttributeProto::STRING);
  return a == nullptr ? std::string(default_value) : a->s();
}

std::vector<int64_t> NodeContext::Ints(absl::string_view name) {
  const AttributeProto* a = Find(name, AttributeProto::INTS);
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> NodeContext::Floats(absl::string_view name) {
  const AttributeProto* a = Find(name, AttributeProto::FLOATS);
  if (a == nullptr) return {};
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> NodeContext::Strs(absl::string_view name) {
  const AttributeProto* a = Find(name, AttributeProto::STRINGS);
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}

DType NodeContext::Dtype(absl::string_view name, DType default_value) {
  const AttributeProto* a = Find(name, AttributeProto::INT);
  if (a == nullptr) return default_value;
  const int64_t number = a->i();
  auto dtype = DTypeFromOnnx(number < 0 || number > 1000 ? -1 : number);
  if (dtype.ok()) return *dtype;
  b().Fail(absl::Status(dtype.status().code(),
                        absl::StrCat("attribute \"", name, "\": ", dtype.status().message())));
  return default_value;
}

int64_t NodeContext::RequiredInt(absl::string_view name) {
  if (!HasAttr(name)) {
    Record(absl::StrCat("attribute \"", name, "\" is missing"));
  }
  return Int(name, 0);
}

absl::StatusOr<HostTensor> NodeContext::Tensor(absl::string_view name) {
  const AttributeProto* a = Find(name, AttributeProto::TENSOR);
  if (a == nullptr) {
    return Fail(absl::StrCat("attribute \"", name, "\" is missing"));
  }
  const NarrowType* narrow = FindNarrowType(a->t().data_type());
  if (narrow != nullptr && num_outputs() > 0) SetNarrowType(0, narrow->data_type);
  // The importer owns the model, and the loader may move data out of it.
  return importer_->loader().Load(const_cast<::onnx::TensorProto&>(a->t()),
                                  absl::StrCat("attribute \"", name, "\""));
}

const ::onnx::GraphProto* NodeContext::Graph(absl::string_view name) {
  const AttributeProto* a = Find(name, AttributeProto::GRAPH);
  if (a != nullptr) return &a->g();
  Record(absl::StrCat("attribute \"", name, "\" is missing"));
  return nullptr;
}

void NodeContext::Ignore(std::initializer_list<absl::string_view> names) {
  for (absl::string_view name : names) Find(name);
}

// --- Inputs and outputs -------------------------------------------------------

std::string NodeContext::InputText(int i) const {
  if (i >= node_.input_size()) return absl::StrCat("input ", i);
  return absl::StrCat("input ", i, " ('", node_.input(i), "')");
}

Value* NodeContext::in(int i) {
  if (has_input(i)) return inputs_[i];
  Record(absl::StrCat("input ", i, " is missing"));
  return nullptr;
}

std::vector<Value*> NodeContext::all_inputs() {
  for (int i = 0; i < num_inputs(); ++i) in(i);
  return ok() ? inputs_ : std::vector<Value*>();
}

void NodeContext::SetOutput(int i, Value* v) {
  if (i < num_outputs() && v != nullptr) outputs_[i] = v;
}

void NodeContext::SetOutputs(absl::Span<Value* const> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    SetOutput(static_cast<int>(i), values[i]);
  }
}

absl::StatusOr<int> NodeContext::Axis(int64_t axis, int rank, bool inclusive) {
  if (axis >= -rank && axis < (inclusive ? rank + 1 : rank)) {
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  return Fail(absl::StrCat("axis ", axis, " is out of range for rank ", rank));
}

absl::StatusOr<std::vector<int64_t>> NodeContext::Axes(absl::Span<const int64_t> axes, int rank) {
  std::vector<int64_t> dims;
  std::vector<bool> seen(rank);
  for (int64_t axis : axes) {
    WEFT_ASSIGN_OR_RETURN(const int dim, Axis(axis, rank));
    if (seen[dim]) return Fail(absl::StrCat("axis ", axis, " appears twice"));
    seen[dim] = true;
    dims.push_back(dim);
  }
  return dims;
}

}  // namespace weft::onnx_import
