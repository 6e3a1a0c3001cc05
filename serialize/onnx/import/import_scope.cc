// Names: lookup through scopes, capture into regions, nested graphs.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_model.h"

namespace weft::onnx_import {

absl::Status ModelImporter::Define(Scope* scope, const std::string& name, Value* value,
                                   int narrow_type) {
  if (name.empty()) return absl::OkStatus();
  if (narrow_type != NarrowTypeOf(scope, name)) scope->narrow[name] = narrow_type;
  if (scope->values.emplace(name, value).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("value '", name, "' is defined twice"));
}

int ModelImporter::NarrowTypeOf(const Scope* scope, const std::string& name) const {
  for (const Scope* s = scope; s != nullptr; s = s->parent) {
    if (auto it = s->narrow.find(name); it != s->narrow.end()) return it->second;
  }
  return 0;
}

absl::StatusOr<Value*> ModelImporter::Lookup(Scope* scope, const std::string& name) {
  for (Scope* s = scope; s != nullptr; s = s->parent) {
    if (auto it = s->values.find(name); it != s->values.end()) {
      if (s->graph == scope->graph || it->second == nullptr) return it->second;
      return Capture(scope, s, name, it->second);
    }
    if (auto it = s->initializers.find(name); it != s->initializers.end()) {
      WEFT_ASSIGN_OR_RETURN(const HostTensor tensor,
                            loader_.Load(*it->second, absl::StrCat("initializer '", name, "'")));
      Value* value = scope->builder.Constant(tensor, name);
      if (value == nullptr) return scope->builder.status();
      scope->values[name] = value;
      return value;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not defined anywhere"));
}

namespace {

// Makes a literal or known integers again in another graph; null for other values.
Value* Remake(ModelImporter* importer, Builder* b, Value* outer) {
  if (outer->IsResultOf(ops::constant)) {
    return b->graph()
        ->CreateNode(ops::constant, {}, outer->node()->attr_list(), {outer->type()})
        ->result();
  }
  const Type type = outer->type();
  if (!type.is_tensor() || !IsInt(type.dtype())) return nullptr;
  const auto dims = type.static_dims();
  const auto known = importer->KnownInts(outer);
  if (!dims || !known) return nullptr;
  return ops::BuildSymConstant(*b, *known, *dims, type.dtype());
}

}  // namespace

absl::StatusOr<Value*> ModelImporter::Capture(Scope* user, Scope* definer, const std::string& name,
                                              Value* outer) {
  std::vector<Scope*> path;
  for (Scope* s = user; s != definer; s = s->parent) {
    // A branch imported in place shares its parent's graph and its captures.
    if (s->graph != s->parent->graph) path.push_back(s);
  }
  Value* value = outer;
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    Scope* s = *it;
    Value* inner = Remake(this, &s->builder, value);
    WEFT_RETURN_IF_ERROR(s->builder.status());
    if (inner == nullptr) {
      inner = s->graph->AddInput(value->type(), name);
      s->captures.push_back(value);
    }
    s->values[name] = inner;
    value = inner;
  }
  return value;
}

absl::Status ModelImporter::ImportBody(Scope* scope, const ::onnx::GraphProto& graph) {
  if (graph.sparse_initializer_size() > 0) {
    return absl::UnimplementedError(absl::StrCat("initializer '",
                                                 graph.sparse_initializer(0).values().name(),
                                                 "' is sparse; sparse tensors are not supported"));
  }
  for (const ::onnx::TensorProto& tensor : graph.initializer()) {
    if (scope->values.contains(tensor.name())) continue;
    // The importer owns the model, and the loader may move data out of it.
    scope->initializers[tensor.name()] = const_cast<::onnx::TensorProto*>(&tensor);
    const NarrowType* narrow = FindNarrowType(tensor.data_type());
    if (narrow != nullptr) scope->narrow[tensor.name()] = narrow->data_type;
  }
  return ImportNodes(scope, graph.node());
}

absl::StatusOr<std::vector<Value*>> ModelImporter::Outputs(Scope* scope,
                                                           const ::onnx::GraphProto& graph) {
  std::vector<Value*> values;
  for (const auto& output : graph.output()) {
    auto value = Lookup(scope, output.name());
    if (!value.ok() || *value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "' of graph '", graph.name(),
                       "': ", value.ok() ? "it is an absent input" : value.status().message()));
    }
    const int narrow = scope->parent == nullptr ? 0 : NarrowTypeOf(scope, output.name());
    if (narrow != 0) {
      return absl::UnimplementedError(
          absl::StrCat("output '", output.name(), "' of graph '", graph.name(),
                       "': a graph within a node cannot give ", OnnxTypeName(narrow)));
    }
    values.push_back(*value);
  }
  return values;
}

absl::Status ModelImporter::TooDeep() const {
  return absl::InvalidArgumentError(
      absl::StrCat("graphs and functions are nested more than ", options_.max_nesting, " deep"));
}

namespace {

absl::Status CheckInputCount(const ::onnx::GraphProto& graph, size_t given) {
  if (graph.input_size() == static_cast<int>(given)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph '", graph.name(), "' has ",
                                                 graph.input_size(), " inputs where ", given,
                                                 " are given"));
}

}  // namespace

absl::Status ModelImporter::DefineInputs(Scope* scope, const ::onnx::GraphProto& graph,
                                         absl::Span<Value* const> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& info = graph.input(static_cast<int>(i));
    const Type type = values[i]->type();
    Value* value = values[i];
    if (type.is_tensor() && type.rank() == 0 && info.type().tensor_type().shape().dim_size() == 1) {
      value = ops::BuildReshape(scope->builder, value, {1});
    }
    WEFT_RETURN_IF_ERROR(scope->builder.status());
    WEFT_RETURN_IF_ERROR(Define(scope, info.name(), value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Region> ModelImporter::ImportRegion(Scope* parent, const ::onnx::GraphProto& graph,
                                                   const RegionInputs& inputs) {
  if (parent->depth >= options_.max_nesting) return TooDeep();
  WEFT_RETURN_IF_ERROR(CheckInputCount(graph, inputs.types.size()));
  Region region;
  region.graph = std::make_unique<weft::Graph>(module_.get(), graph.name());
  Scope scope(parent, region.graph.get());
  std::vector<Value*> values;
  for (size_t i = 0; i < inputs.types.size(); ++i) {
    values.push_back(
        region.graph->AddInput(inputs.types[i], graph.input(static_cast<int>(i)).name()));
  }
  if (inputs.first_iteration != 0) {
    Value* first =
        scope.builder.Constant(HostTensor::ScalarInt(DType::kI64, inputs.first_iteration));
    values[0] = scope.builder.Op(ops::add, {values[0], first});
    WEFT_RETURN_IF_ERROR(scope.builder.status());
  }
  if (inputs.iterates) iterations_[values[0]] = inputs.iterations;
  absl::Status status = DefineInputs(&scope, graph, values);
  if (status.ok()) status = ImportBody(&scope, graph);
  auto outputs = status.ok() ? Outputs(&scope, graph) : status;
  region.captures = std::move(scope.captures);
  if (!outputs.ok()) {
    Discard(std::move(region));
    return outputs.status();
  }
  region.graph->SetOutputs(*outputs);
  for (Value* v : *outputs) region.outputs.push_back(v->type());
  return region;
}

absl::StatusOr<std::vector<Value*>> ModelImporter::ImportInPlace(Scope* parent,
                                                                 const ::onnx::GraphProto& graph,
                                                                 absl::Span<Value* const> inputs) {
  if (parent->depth >= options_.max_nesting) return TooDeep();
  Scope scope(parent, parent->graph);
  if (!inputs.empty()) {
    WEFT_RETURN_IF_ERROR(CheckInputCount(graph, inputs.size()));
    WEFT_RETURN_IF_ERROR(DefineInputs(&scope, graph, inputs));
  }
  WEFT_RETURN_IF_ERROR(ImportBody(&scope, graph));
  return Outputs(&scope, graph);
}

}  // namespace weft::onnx_import
