#include "examples/exported/model_writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weft::examples {
namespace {

constexpr int kIrVersion = 8;
constexpr int kOpset = 17;

// Little-endian, as ONNX asks for, on any machine.
template <typename T>
void AppendRaw(T bits, std::string* raw) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    raw->push_back(static_cast<char>((bits >> (8 * i)) & 0xff));
  }
}

void AppendFloat(float value, std::string* raw) {
  uint32_t bits;
  static_assert(sizeof(bits) == sizeof(value));
  std::memcpy(&bits, &value, sizeof(bits));
  AppendRaw(bits, raw);
}

void SetType(onnx::TensorProto::DataType type, absl::Span<const std::string> dims,
             onnx::ValueInfoProto* info) {
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  for (const std::string& dim : dims) {
    int64_t size;
    auto* proto = tensor->mutable_shape()->add_dim();
    if (absl::SimpleAtoi(dim, &size)) {
      proto->set_dim_value(size);
    } else {
      proto->set_dim_param(dim);
    }
  }
}

onnx::AttributeProto NamedAttr(absl::string_view name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto attr;
  attr.set_name(std::string(name));
  attr.set_type(type);
  return attr;
}

}  // namespace

uint64_t SplitMix64::Next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

float SplitMix64::Uniform(float low, float high) {
  // 24 random bits times a float: 48 bits, exact in double. The sum rounds to
  // double once whether or not it is contracted to a fused multiply-add.
  const double unit = static_cast<double>(Next() >> 40) / (1 << 24);
  const float width = high - low;
  return static_cast<float>(low + static_cast<double>(width) * unit);
}

onnx::AttributeProto IntAttr(absl::string_view name, int64_t value) {
  onnx::AttributeProto attr = NamedAttr(name, onnx::AttributeProto::INT);
  attr.set_i(value);
  return attr;
}

onnx::AttributeProto IntsAttr(absl::string_view name, absl::Span<const int64_t> values) {
  onnx::AttributeProto attr = NamedAttr(name, onnx::AttributeProto::INTS);
  for (int64_t value : values) attr.add_ints(value);
  return attr;
}

onnx::AttributeProto FloatAttr(absl::string_view name, float value) {
  onnx::AttributeProto attr = NamedAttr(name, onnx::AttributeProto::FLOAT);
  attr.set_f(value);
  return attr;
}

ModelWriter::ModelWriter(absl::string_view graph_name, uint64_t seed) : random_(seed) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("weft-examples");
  model_.add_opset_import()->set_version(kOpset);
  graph_ = model_.mutable_graph();
  graph_->set_name(std::string(graph_name));
}

ModelWriter::Scope::Scope(ModelWriter* writer, absl::string_view name) : writer_(writer) {
  writer_->scopes_.emplace_back(name);
}

ModelWriter::Scope::~Scope() { writer_->scopes_.pop_back(); }

std::string ModelWriter::Input(absl::string_view name, onnx::TensorProto::DataType type,
                               absl::Span<const std::string> dims) {
  onnx::ValueInfoProto* info = graph_->add_input();
  info->set_name(std::string(name));
  SetType(type, dims, info);
  return info->name();
}

void ModelWriter::Output(absl::string_view name, absl::string_view value,
                         absl::Span<const std::string> dims) {
  onnx::NodeProto* node = graph_->add_node();
  node->set_op_type("Identity");
  node->set_name(absl::StrCat("/", name, "/Identity"));
  node->add_input(std::string(value));
  node->add_output(std::string(name));
  onnx::ValueInfoProto* info = graph_->add_output();
  info->set_name(std::string(name));
  SetType(onnx::TensorProto::FLOAT, dims, info);
}

std::string ModelWriter::Op(absl::string_view op_type, absl::Span<const std::string> inputs,
                            absl::Span<const onnx::AttributeProto> attrs) {
  std::string name = "/";
  for (const std::string& scope : scopes_) absl::StrAppend(&name, scope, "/");
  absl::StrAppend(&name, op_type);
  const int count = node_names_[name]++;
  if (count > 0) absl::StrAppend(&name, "_", count);
  onnx::NodeProto* node = graph_->add_node();
  node->set_op_type(std::string(op_type));
  node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const onnx::AttributeProto& attr : attrs) *node->add_attribute() = attr;
  node->add_output(absl::StrCat(name, "_output_0"));
  return node->output(0);
}

std::string ModelWriter::Parameter(absl::string_view name, absl::Span<const int64_t> dims,
                                   float low, float high) {
  std::string full;
  for (const std::string& scope : scopes_) absl::StrAppend(&full, scope, ".");
  absl::StrAppend(&full, name);
  onnx::TensorProto* tensor = graph_->add_initializer();
  tensor->set_name(full);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t dim : dims) {
    tensor->add_dims(dim);
    count *= dim;
  }
  for (int64_t i = 0; i < count; ++i) {
    AppendFloat(random_.Uniform(low, high), tensor->mutable_raw_data());
  }
  return full;
}

std::string ModelWriter::Constant(const onnx::TensorProto& tensor) {
  onnx::AttributeProto attr = NamedAttr("value", onnx::AttributeProto::TENSOR);
  *attr.mutable_t() = tensor;
  return Op("Constant", {}, {attr});
}

std::string ModelWriter::Ints(absl::Span<const int64_t> values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(values.size());
  for (int64_t value : values) {
    AppendRaw(static_cast<uint64_t>(value), tensor.mutable_raw_data());
  }
  return Constant(tensor);
}

std::string ModelWriter::Int(int64_t value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  AppendRaw(static_cast<uint64_t>(value), tensor.mutable_raw_data());
  return Constant(tensor);
}

std::string ModelWriter::Float(float value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  AppendFloat(value, tensor.mutable_raw_data());
  return Constant(tensor);
}

std::string ModelWriter::Size(const std::string& value, int64_t axis) {
  const std::string shape = Op("Shape", {value});
  const std::string index = Int(axis);
  return Op("Gather", {shape, index}, {IntAttr("axis", 0)});
}

std::string ModelWriter::Reshape(const std::string& value, absl::Span<const std::string> sizes) {
  std::vector<std::string> parts;
  for (const std::string& size : sizes) {
    int64_t number;
    if (absl::SimpleAtoi(size, &number)) {
      parts.push_back(Ints({number}));
    } else {
      const std::string axes = Ints({0});
      parts.push_back(Op("Unsqueeze", {size, axes}));
    }
  }
  const std::string shape = Op("Concat", parts, {IntAttr("axis", 0)});
  return Op("Reshape", {value, shape});
}

std::string ModelWriter::Serialize() const {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    model_.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace weft::examples
