#include "serialize/onnx/export/export_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"

namespace weft::onnx_export {
namespace {

// Offsets of external tensors, so that they can be mapped.
constexpr int64_t kAlignment = 4096;

onnx::AttributeProto AttrProto(const OnnxAttr& attr) {
  onnx::AttributeProto proto;
  proto.set_name(std::string(attr.name));
  if (const auto* i = std::get_if<int64_t>(&attr.value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*i);
  } else if (const auto* f = std::get_if<double>(&attr.value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*f));
  } else if (const auto* s = std::get_if<std::string>(&attr.value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*s);
  } else if (const auto* v = std::get_if<std::vector<int64_t>>(&attr.value)) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (int64_t x : *v) proto.add_ints(x);
  } else if (const auto* v = std::get_if<std::vector<double>>(&attr.value)) {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (double x : *v) proto.add_floats(static_cast<float>(x));
  } else {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const auto& x : std::get<std::vector<std::string>>(attr.value)) {
      proto.add_strings(x);
    }
  }
  return proto;
}

// Absent inputs at the end are left out.
void SetInputs(absl::Span<const Val> inputs, onnx::NodeProto* node) {
  for (Val input : inputs) node->add_input(input ? input->name : "");
  while (node->input_size() > 0 && node->input(node->input_size() - 1).empty()) {
    node->mutable_input()->RemoveLast();
  }
}

void SetExternal(const std::string& key, const std::string& value, onnx::TensorProto* proto) {
  auto* entry = proto->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

}  // namespace

// --- The model ----------------------------------------------------------------

std::string ModelWriter::UniqueName(absl::string_view wanted) {
  std::string name(wanted);
  if (names_.insert(name).second) return name;
  int& suffix = next_suffix_[wanted];
  do {
    name = absl::StrCat(wanted, "_", ++suffix);
  } while (!names_.insert(name).second);
  return name;
}

Val ModelWriter::NewValue(std::string name, DType dtype) {
  OnnxValue& value = values_.emplace_back();
  value.name = std::move(name);
  value.dtype = dtype;
  return &value;
}

int ModelWriter::DataType(DType dtype) {
  auto number = OnnxDataType(dtype, opset_);
  if (number.ok()) return *number;
  Fail(number.status());
  return onnx::TensorProto::UNDEFINED;
}

void ModelWriter::SetType(Type type, onnx::ValueInfoProto* info) {
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  auto* shape = tensor->mutable_shape();
  if (type.is_symint()) {
    tensor->set_elem_type(DataType(DType::kI64));
    return;
  }
  tensor->set_elem_type(DataType(type.dtype()));
  for (SymInt size : type.dims()) {
    auto* dim = shape->add_dim();
    if (size.is_constant()) {
      dim->set_dim_value(size.value());
    } else if (size.is_symbol()) {
      dim->set_dim_param(std::string(size.name()));
    } else {
      dim->set_dim_param(size.ToString());
    }
  }
}

Val ModelWriter::AddInitializer(const HostTensor& tensor, std::string name) {
  onnx::TensorProto* proto = main_->add_initializer();
  proto->set_name(name);
  proto->set_data_type(DataType(tensor.dtype()));
  for (int64_t dim : tensor.dims()) proto->add_dims(dim);
  const int64_t bytes = tensor.bytes();
  if (external_bytes_ >= 0 && bytes >= external_bytes_) {
    external_end_ += (kAlignment - external_end_ % kAlignment) % kAlignment;
    proto->set_data_location(onnx::TensorProto::EXTERNAL);
    SetExternal("location", external_file_, proto);
    SetExternal("offset", absl::StrCat(external_end_), proto);
    SetExternal("length", absl::StrCat(bytes), proto);
    external_.push_back({tensor.Contiguous(), external_end_});
    external_end_ += bytes;
  } else if (bytes > bytes_left_) {
    Fail(absl::ResourceExhaustedError(
        "constants pass max_model_bytes: write a file with external data"));
  } else {
    bytes_left_ -= bytes;
    proto->set_raw_data(tensor.Contiguous().raw(), bytes);
  }
  Val value = NewValue(std::move(name), tensor.dtype());
  value->shared = true;
  return value;
}

Val ModelWriter::StoredConstant(int id) {
  const ConstantStore& store = module_.constants();
  if (stored_.size() < static_cast<size_t>(store.size())) {
    stored_.resize(store.size());
  }
  if (stored_[id] == nullptr) {
    const std::string& name = store.name(id);
    stored_[id] = AddInitializer(store.tensor(id), UniqueName(name.empty() ? "constant" : name));
  }
  return stored_[id];
}

Val ModelWriter::HelperConstant(const HostTensor& tensor) {
  auto& equal = helpers_[tensor.Fingerprint()];
  for (const auto& [known, value] : equal) {
    if (known.BitEqual(tensor)) return value;
  }
  Val value = AddInitializer(tensor, UniqueName("literal"));
  equal.emplace_back(tensor, value);
  return value;
}

// --- Values -------------------------------------------------------------------

Val GraphWriter::Find(const Value* value) const {
  return value->id() < values_.size() ? values_[value->id()] : nullptr;
}

void GraphWriter::Define(const Value* value, Val val) {
  if (values_.size() <= value->id()) {
    values_.resize(std::max<size_t>(value->id() + 1, values_.size() * 2));
  }
  values_[value->id()] = val;
  DefineSymbols(value->type(), val);
}

Val GraphWriter::AddInput(Type type, absl::string_view name) {
  onnx::ValueInfoProto* info = proto_->add_input();
  info->set_name(model_->UniqueName(name));
  model_->SetType(type, info);
  Val val = model_->NewValue(info->name(), type.is_symint() ? DType::kI64 : type.dtype());
  val->graph = this;
  val->shared = true;
  return val;
}

void GraphWriter::AddOutput(Type type, const std::string& name) {
  onnx::ValueInfoProto* info = proto_->add_output();
  info->set_name(name);
  model_->SetType(type, info);
}

// --- Nodes --------------------------------------------------------------------

void GraphWriter::BeginNode(std::string name, std::string doc) {
  node_name_ = std::move(name);
  node_doc_ = std::move(doc);
  first_node_ = num_nodes();
  new_sizes_.clear();
  new_shared_.clear();
}

void GraphWriter::Rollback() {
  for (SymInt size : new_sizes_) sizes_.erase(size);
  for (const std::string& key : new_shared_) shared_.erase(key);
  while (num_nodes() > first_node_) proto_->mutable_node()->RemoveLast();
}

onnx::NodeProto* GraphWriter::AddNode(absl::string_view op_type) {
  onnx::NodeProto* node = proto_->add_node();
  node->set_op_type(std::string(op_type));
  node->set_name(model_->UniqueName(node_name_));
  if (!node_doc_.empty()) node->set_doc_string(node_doc_);
  return node;
}

Val GraphWriter::AddOutput(onnx::NodeProto* node, DType dtype) {
  Val val = model_->NewValue(
      model_->UniqueName(absl::StrCat(node->name(), "_output_", node->output_size())), dtype);
  val->graph = this;
  val->node = num_nodes() - 1;
  node->add_output(val->name);
  return val;
}

std::vector<Val> GraphWriter::Ops(absl::string_view op_type, absl::Span<const Val> inputs,
                                  const OnnxAttrs& attrs, const std::vector<bool>& wanted,
                                  std::optional<DType> output) {
  std::vector<std::optional<DType>> dtypes;
  for (Val input : inputs) {
    dtypes.push_back(input ? std::make_optional(input->dtype) : std::nullopt);
  }
  const int num_outputs = static_cast<int>(wanted.size());
  auto types = model_->schemas().Types(op_type, dtypes, num_outputs, output);
  if (!types.ok()) {
    model_->Fail(types.status());
    return std::vector<Val>(num_outputs, model_->NewValue("", output.value_or(DType::kF32)));
  }
  std::vector<Val> cast(inputs.begin(), inputs.end());
  for (size_t i = 0; i < cast.size(); ++i) {
    if (cast[i] != nullptr) cast[i] = Cast(cast[i], types->inputs[i]);
  }
  onnx::NodeProto* node = AddNode(op_type);
  SetInputs(cast, node);
  for (const OnnxAttr& attr : attrs) *node->add_attribute() = AttrProto(attr);
  std::vector<Val> outputs = AddOutputs(node, types->raw_outputs, wanted);
  for (int i = 0; i < num_outputs; ++i) {
    if (outputs[i] != nullptr) outputs[i] = Cast(outputs[i], types->outputs[i]);
  }
  return outputs;
}

std::vector<Val> GraphWriter::AddOutputs(onnx::NodeProto* node, const std::vector<DType>& dtypes,
                                         const std::vector<bool>& wanted) {
  std::vector<Val> outputs(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) {
      outputs[i] = AddOutput(node, dtypes[i]);
    } else if (std::find(wanted.begin() + i, wanted.end(), true) != wanted.end()) {
      node->add_output("");
    }
  }
  return outputs;
}

Val GraphWriter::Op(absl::string_view op_type, absl::Span<const Val> inputs, const OnnxAttrs& attrs,
                    std::optional<DType> output) {
  return Ops(op_type, inputs, attrs, {true}, output)[0];
}

std::vector<Val> GraphWriter::OpsAs(absl::string_view op_type, absl::Span<const Val> inputs,
                                    const OnnxAttrs& attrs, const std::vector<DType>& dtypes,
                                    const std::vector<bool>& wanted, absl::string_view domain) {
  for (const DType dtype : dtypes) model_->DataType(dtype);
  onnx::NodeProto* node = AddNode(op_type);
  if (!domain.empty()) {
    node->set_domain(std::string(domain));
    model_->UseDomain(domain);
  }
  SetInputs(inputs, node);
  for (const OnnxAttr& attr : attrs) *node->add_attribute() = AttrProto(attr);
  return AddOutputs(node, dtypes, wanted);
}

Val GraphWriter::Shared(absl::string_view op_type, absl::Span<const Val> inputs,
                        const OnnxAttrs& attrs) {
  std::string key(op_type);
  for (Val input : inputs) absl::StrAppend(&key, "\n", input->name);
  for (const OnnxAttr& attr : attrs) {
    absl::StrAppend(&key, "\n\n", AttrProto(attr).SerializeAsString());
  }
  for (const GraphWriter* w = this; w != nullptr; w = w->outer_) {
    auto it = w->shared_.find(key);
    if (it != w->shared_.end()) return it->second;
  }
  for (Val input : inputs) input->shared = true;
  Val val = Op(op_type, inputs, attrs);
  val->shared = true;
  new_shared_.push_back(key);
  shared_.emplace(std::move(key), val);
  return val;
}

Val GraphWriter::Cast(Val val, DType dtype) {
  if (val->dtype == dtype) return val;
  onnx::NodeProto* node = AddNode("Cast");
  node->add_input(val->name);
  *node->add_attribute() = AttrProto({"to", static_cast<int64_t>(model_->DataType(dtype))});
  if (dtype == DType::kF8E8M0) *node->add_attribute() = AttrProto({"round_mode", "nearest"});
  return AddOutput(node, dtype);
}

void GraphWriter::NameValue(Val val, const std::string& name) {
  if (val->shared || val->graph != this || val->node < first_node_) {
    onnx::NodeProto* node = AddNode("Identity");
    node->add_input(val->name);
    node->add_output(name);
    return;
  }
  for (int i = first_node_; i < num_nodes(); ++i) {
    onnx::NodeProto* node = proto_->mutable_node(i);
    for (std::string& input : *node->mutable_input()) {
      if (input == val->name) input = name;
    }
    for (std::string& out : *node->mutable_output()) {
      if (out == val->name) out = name;
    }
  }
  val->name = name;
  val->shared = true;
}

Val GraphWriter::Ints(absl::Span<const int64_t> values) {
  return Tensor(HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(values.size())}, values));
}

}  // namespace weft::onnx_export
