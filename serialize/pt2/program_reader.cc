#include "serialize/pt2/program_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/tensor/type.h"

namespace weft::pt2 {
namespace {

using Kind = Argument::Kind;

// The form of a member of the Argument union.
enum class Form {
  kScalar,
  kList,
  kSymbolic,
  kSymbolicList,
  kOptional,
  kOptionalList,
  kNested,
  kRefused
};

struct Member {
  const char* key;
  Form form;
  Kind kind;
};

constexpr Member kMembers[] = {
    {"as_none", Form::kScalar, Kind::kNone},
    {"as_tensor", Form::kScalar, Kind::kTensor},
    {"as_tensors", Form::kList, Kind::kTensor},
    {"as_optional_tensor", Form::kOptional, Kind::kTensor},
    {"as_optional_tensors", Form::kOptionalList, Kind::kTensor},
    {"as_nested_tensors", Form::kNested, Kind::kTensor},
    {"as_int", Form::kScalar, Kind::kInt},
    {"as_ints", Form::kList, Kind::kInt},
    {"as_int_lists", Form::kNested, Kind::kInt},
    {"as_float", Form::kScalar, Kind::kFloat},
    {"as_floats", Form::kList, Kind::kFloat},
    {"as_float_lists", Form::kNested, Kind::kFloat},
    {"as_complex", Form::kScalar, Kind::kComplex},
    {"as_bool", Form::kScalar, Kind::kBool},
    {"as_bools", Form::kList, Kind::kBool},
    {"as_string", Form::kScalar, Kind::kString},
    {"as_strings", Form::kList, Kind::kString},
    {"as_sym_int", Form::kSymbolic, Kind::kSymInt},
    {"as_sym_ints", Form::kSymbolicList, Kind::kSymInt},
    {"as_sym_float", Form::kSymbolic, Kind::kSymFloat},
    {"as_sym_floats", Form::kSymbolicList, Kind::kSymFloat},
    {"as_sym_bool", Form::kSymbolic, Kind::kSymBool},
    {"as_sym_bools", Form::kSymbolicList, Kind::kSymBool},
    {"as_scalar_type", Form::kScalar, Kind::kDType},
    {"as_memory_format", Form::kScalar, Kind::kMemoryFormat},
    {"as_layout", Form::kScalar, Kind::kLayout},
    {"as_device", Form::kScalar, Kind::kDevice},
    {"as_graph", Form::kScalar, Kind::kGraph},
    {"as_custom_obj", Form::kRefused, Kind::kOther},
    {"as_operator", Form::kScalar, Kind::kString},
    {"as_opaque_obj", Form::kRefused, Kind::kOther},
    {"as_string_to_argument", Form::kRefused, Kind::kOther},
};

// The value of a symbolic argument that is not a name.
struct Literal {
  Kind symbolic;
  const char* key;
  Kind kind;
};

constexpr Literal kLiterals[] = {
    {Kind::kSymInt, "as_int", Kind::kInt},
    {Kind::kSymFloat, "as_float", Kind::kFloat},
    {Kind::kSymBool, "as_bool", Kind::kBool},
};

}  // namespace

std::string ProgramReader::ReadDevice(const Place& at) {
  if (!json_.IsObject(at)) return "";
  std::string device = json_.String(at["type"]);
  const Place index = at["index"];
  if (index.present()) absl::StrAppend(&device, ":", json_.Int(index));
  return device;
}

Argument ProgramReader::ReadScalar(Kind kind, const Place& at) {
  Argument a;
  a.kind = kind;
  switch (kind) {
    case Kind::kTensor:
      if (json_.IsObject(at)) a.name = json_.String(at["name"]);
      break;
    case Kind::kFloat:
      a.number = json_.Float(at);
      break;
    case Kind::kComplex:
      a.number = json_.Float(at["real"]);
      a.imaginary = json_.Float(at["imag"]);
      break;
    case Kind::kBool:
      a.integer = json_.Bool(at);
      break;
    case Kind::kString:
      a.name = json_.String(at);
      break;
    case Kind::kDevice:
      a.name = ReadDevice(at);
      break;
    case Kind::kGraph:
      a.name = json_.String(at["name"]);
      a.graph = std::make_shared<GraphDef>(ReadGraph(at["graph"]));
      break;
    case Kind::kNone:
      break;
    default:  // kInt and the enumerations.
      a.integer = json_.Int(at);
      break;
  }
  return a;
}

Argument ProgramReader::ReadList(Kind kind, const Place& at) {
  Argument list;
  list.kind = Kind::kList;
  json_.ForEach(at, [&](const Place& item) { list.items.push_back(ReadScalar(kind, item)); });
  return list;
}

Argument ProgramReader::ReadSymbolic(Kind kind, const Place& at) {
  Argument a;
  const std::string key = json_.UnionKey(at);
  if (key.empty()) return a;
  if (key == "as_name") {
    a.kind = kind;
    a.name = json_.String(at[key]);
    return a;
  }
  for (const Literal& literal : kLiterals) {
    if (literal.symbolic == kind && key == literal.key) {
      return ReadScalar(literal.kind, at[key]);
    }
  }
  json_.Fail(at, absl::StrCat("unknown member \"", key, "\""));
  return a;
}

Argument ProgramReader::ReadOptionalTensor(const Place& at) {
  const std::string key = json_.UnionKey(at);
  if (key == "as_none") return Argument();
  if (key == "as_tensor" && at[key].json()->is_string()) {
    Argument a;  // The first versions have only the name there.
    a.kind = Kind::kTensor;
    a.name = json_.String(at[key]);
    return a;
  }
  if (key == "as_tensor") return ReadScalar(Kind::kTensor, at[key]);
  json_.Fail(at, absl::StrCat("unknown member \"", key, "\""));
  return Argument();
}

Argument ProgramReader::ReadMember(const std::string& key, const Place& at) {
  Argument list;
  list.kind = Kind::kList;
  for (const Member& member : kMembers) {
    if (key != member.key) continue;
    switch (member.form) {
      case Form::kScalar:
        return ReadScalar(member.kind, at);
      case Form::kList:
        return ReadList(member.kind, at);
      case Form::kSymbolic:
        return ReadSymbolic(member.kind, at);
      case Form::kOptional:
        return ReadOptionalTensor(at);
      case Form::kSymbolicList:
        json_.ForEach(
            at, [&](const Place& item) { list.items.push_back(ReadSymbolic(member.kind, item)); });
        return list;
      case Form::kOptionalList:
        json_.ForEach(at,
                      [&](const Place& item) { list.items.push_back(ReadOptionalTensor(item)); });
        return list;
      case Form::kNested:
        json_.ForEach(
            at, [&](const Place& item) { list.items.push_back(ReadList(member.kind, item)); });
        return list;
      case Form::kRefused:
        list.kind = Kind::kOther;
        list.name = key;
        return list;
    }
  }
  json_.Fail(at, absl::StrCat("unknown kind of argument \"", key, "\""));
  return Argument();
}

Argument ProgramReader::ReadArgument(const Place& at) {
  const std::string key = json_.UnionKey(at);
  if (key.empty()) return Argument();
  return ReadMember(key, at[key]);
}

std::vector<Argument> ProgramReader::ReadArguments(const Place& at) {
  std::vector<Argument> arguments;
  json_.ForEach(at, [&](const Place& item) { arguments.push_back(ReadArgument(item)); });
  return arguments;
}

SizeExpr ProgramReader::ReadSize(const Place& at) {
  SizeExpr size;
  const std::string key = json_.UnionKey(at);
  if (key == "as_int") {
    size.value = json_.Int(at[key]);
  } else if (key == "as_expr") {
    const Place member = at[key];
    size.expr = json_.String(member["expr_str"]);
    const Place hint = member["hint"];
    if (hint.present()) {
      const Place value = hint["as_int"];
      if (value.present()) size.hint = json_.Int(value);
    }
  } else if (!key.empty()) {
    json_.Fail(at, absl::StrCat("unknown member \"", key, "\""));
  }
  return size;
}

std::vector<SizeExpr> ProgramReader::ReadSizes(const Place& at) {
  std::vector<SizeExpr> sizes;
  json_.ForEach(at, [&](const Place& item) { sizes.push_back(ReadSize(item)); });
  return sizes;
}

TensorMeta ProgramReader::ReadTensorMeta(const Place& at) {
  constexpr int64_t kStrided = 7;
  TensorMeta meta;
  if (!json_.IsObject(at)) return meta;
  meta.dtype_number = json_.Int(at["dtype"]);
  meta.dtype = DTypeFromNumber(meta.dtype_number);
  meta.sizes = ReadSizes(at["sizes"]);
  if (meta.sizes.size() > static_cast<size_t>(Type::kMaxRank)) {
    json_.Fail(at["sizes"], absl::StrCat("a tensor of ", meta.sizes.size(), " dims; the limit is ",
                                         Type::kMaxRank));
  }
  meta.strides = ReadSizes(at["strides"]);
  const Place offset = at["storage_offset"];
  meta.storage_offset.value = 0;
  if (offset.present()) {
    meta.storage_offset = offset.json()->is_object() ? ReadSize(offset) : SizeExpr();
    if (!offset.json()->is_object()) {
      meta.storage_offset.value = json_.Int(offset);
    }
  }
  const Place device = at["device"];
  if (device.present()) meta.device = ReadDevice(device);
  const Place layout = at["layout"];
  if (layout.present()) meta.strided = json_.Int(layout) == kStrided;
  return meta;
}

NodeDef ProgramReader::ReadNode(const Place& at) {
  NodeDef node;
  if (!json_.IsObject(at)) return node;
  node.target = json_.String(at["target"]);
  const Place name = at["name"];
  if (name.present()) node.name = json_.String(name);
  json_.ForEach(at["inputs"], [&](const Place& input) {
    NodeDef::Input in;
    if (!json_.IsObject(input)) return;
    in.name = json_.String(input["name"]);
    in.value = ReadArgument(input["arg"]);
    node.inputs.push_back(std::move(in));
  });
  node.outputs = ReadArguments(at["outputs"]);
  const Place metadata = at["metadata"];
  const Place trace = metadata["stack_trace"];
  if (trace.present()) node.stack_trace = json_.String(trace);
  const Place stack = metadata["nn_module_stack"];
  if (stack.present()) node.module_stack = json_.String(stack);
  return node;
}

GraphDef ProgramReader::ReadGraph(const Place& at) {
  GraphDef graph;
  if (!json_.IsObject(at)) return graph;
  graph.inputs = ReadArguments(at["inputs"]);
  graph.outputs = ReadArguments(at["outputs"]);
  json_.ForEach(at["nodes"], [&](const Place& node) { graph.nodes.push_back(ReadNode(node)); });
  json_.ForEachMember(at["tensor_values"], [&](const std::string& name, const Place& meta) {
    graph.tensors.emplace(name, ReadTensorMeta(meta));
  });
  const Place ints = at["sym_int_values"];
  if (ints.present()) {
    json_.ForEachMember(ints, [&](const std::string& name, const Place& size) {
      graph.sym_ints.emplace(name, ReadSize(size));
    });
  }
  return graph;
}

InputSpec ProgramReader::ReadInputSpec(const Place& at) {
  InputSpec spec;
  const std::string key = json_.UnionKey(at);
  if (key.empty()) return spec;
  const Place member = at[key];
  const auto named = [&](InputSpec::Kind kind, const char* target) {
    spec.kind = kind;
    const Place arg = member["arg"];
    spec.name = json_.String(arg["name"]);
    spec.value.kind = Kind::kTensor;
    spec.value.name = spec.name;
    spec.target = json_.String(member[target]);
  };
  if (key == "user_input") {
    spec.value = ReadArgument(member["arg"]);
    spec.name = spec.value.name;
  } else if (key == "parameter") {
    named(InputSpec::Kind::kParameter, "parameter_name");
  } else if (key == "buffer") {
    named(InputSpec::Kind::kBuffer, "buffer_name");
    const Place persistent = member["persistent"];
    if (persistent.present()) spec.persistent = json_.Bool(persistent);
  } else if (key == "tensor_constant") {
    named(InputSpec::Kind::kConstant, "tensor_constant_name");
  } else if (key == "constant_input") {
    spec.kind = InputSpec::Kind::kConstantInput;
    spec.name = json_.String(member["name"]);
    spec.value = ReadArgument(member["value"]);
  } else {
    json_.Unsupported(at, absl::StrCat("inputs of kind \"", key, "\" are not supported"));
  }
  return spec;
}

OutputSpec ProgramReader::ReadOutputSpec(const Place& at) {
  OutputSpec spec;
  const std::string key = json_.UnionKey(at);
  if (key.empty()) return spec;
  const Place member = at[key];
  const auto written = [&](OutputSpec::Kind kind, const char* target) {
    spec.kind = kind;
    const Place arg = member["arg"];
    spec.value.kind = Kind::kTensor;
    spec.value.name = json_.String(arg["name"]);
    spec.target = json_.String(member[target]);
  };
  if (key == "user_output") {
    spec.value = ReadArgument(member["arg"]);
  } else if (key == "buffer_mutation") {
    written(OutputSpec::Kind::kBufferMutation, "buffer_name");
  } else if (key == "parameter_mutation") {
    written(OutputSpec::Kind::kBufferMutation, "parameter_name");
  } else if (key == "user_input_mutation") {
    written(OutputSpec::Kind::kInputMutation, "user_input_name");
  } else if (key == "loss_output") {
    const Place arg = member["arg"];
    spec.value.kind = Kind::kTensor;
    spec.value.name = json_.String(arg["name"]);
  } else if (key == "gradient_to_parameter" || key == "gradient_to_user_input") {
    const Place arg = member["arg"];
    spec.value.kind = Kind::kTensor;
    spec.value.name = json_.String(arg["name"]);
  } else {
    json_.Unsupported(at, absl::StrCat("outputs of kind \"", key, "\" are not supported"));
  }
  return spec;
}

}  // namespace weft::pt2
