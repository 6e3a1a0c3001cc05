// State of the import of one model: scopes of names, functions, nested graphs.
//
// A Scope is a graph of the model, a function's body, or a branch that is imported in place. Its
// names map to values of one Weft graph. Regions (bodies of control flow) are isolated in Weft: a
// name from outside becomes an input of the region's graph, and the outer value is listed in
// `captures`; constants and known integers are made again inside instead.
//
// Nesting is bounded (OnnxImportOptions::max_nesting); everything else is iterative.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_MODEL_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_MODEL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/symbolic_values.h"
#include "graph/tensor/tensor.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/onnx.h"
#include "serialize/onnx/import/tensor_proto.h"

namespace weft {
class OpRegistry;
class Value;
}  // namespace weft

namespace weft::onnx_import {

using NodeProtos = ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// Total of OnnxImportOptions::progress: one half is for the file, the other for the nodes of the
// model's graph.
inline constexpr int64_t kImportUnits = 1000;

// The newest opset of ai.onnx that the tables cover.
inline constexpr int kMaxOpset = 28;

// Versions by domain; "" is ai.onnx.
using Opsets = std::map<std::string, int>;
std::string NormalizeDomain(absl::string_view domain);
// The imported version of a (normalised) domain. Exporters forget to import domains of vendors, so
// these default to version 1. 0: ai.onnx is not imported.
int OpsetOf(const Opsets& opsets, const std::string& domain);

// A call of a model-local function (or of an operator's function body).
struct FunctionFrame {
  const FunctionFrame* caller = nullptr;
  const ::onnx::FunctionProto* function = nullptr;
  // The attributes to which `ref_attr_name` may refer.
  std::map<std::string, const ::onnx::AttributeProto*> attributes;
  Opsets opsets;
  std::string prefix;  // Prefix of node names: the names of the calls.
};

// The name of a node that a call makes: `name` after those of the calls, shortened in the middle if
// it is long.
std::string InlinedName(const FunctionFrame* frame, absl::string_view name);

// A node's name, or that of its first output.
std::string NodeName(const ::onnx::NodeProto& node);
// "Conv node 'conv1'".
std::string DescribeNode(const ::onnx::NodeProto& node);
// "domain::Type", or "Type" for ai.onnx.
std::string OperatorName(const ::onnx::NodeProto& node);

// Nodes in an order in which every name is defined before it is used, nested graphs included; the
// given order if it has that property. It is an error if two nodes define a name, and if there is a
// cycle.
absl::StatusOr<std::vector<int>> OrderNodes(const NodeProtos& nodes);

// The model's functions by domain, name and overload.
class FunctionTable {
 public:
  absl::Status Add(const ::onnx::FunctionProto& function);
  const ::onnx::FunctionProto* Find(const ::onnx::NodeProto& node) const;
  // The attributes with defaults, from `attribute_proto`.
  const std::vector<::onnx::AttributeProto>& Defaults(const ::onnx::FunctionProto* function) const;
  // The versions that the function imports; the model's for domains that it does not list.
  Opsets OpsetsOf(const ::onnx::FunctionProto& function, const Opsets& model) const;

 private:
  struct Entry {
    const ::onnx::FunctionProto* function;
    std::vector<::onnx::AttributeProto> defaults;
  };
  std::map<std::string, Entry> by_key_;
  absl::flat_hash_map<const ::onnx::FunctionProto*, const Entry*> entries_;
};

// OK, or one Unimplemented error that lists all operators of the model that cannot be imported,
// with the names of their nodes; `ops` may have some of other domains.
absl::Status CheckOperators(const ::onnx::ModelProto& model, const Opsets& opsets,
                            const FunctionTable& functions, const OpRegistry& ops);

struct Scope {
  Scope(Scope* parent, weft::Graph* graph) : parent(parent), graph(graph), builder(graph) {
    if (parent == nullptr) return;
    opsets = parent->opsets;
    frame = parent->frame;
    depth = parent->depth + 1;
  }

  Scope* parent;  // Its names are visible too. Null for functions.
  weft::Graph* graph;
  Builder builder;
  absl::flat_hash_map<std::string, Value*> values;
  // Names of values whose element type is one of narrow_types.h: the TensorProto.DataType; 0 for a
  // name that hides such a name of an outer scope.
  absl::flat_hash_map<std::string, int> narrow;
  // Initializers that are not constants of the module yet.
  absl::flat_hash_map<std::string, ::onnx::TensorProto*> initializers;
  const Opsets* opsets = nullptr;
  const FunctionFrame* frame = nullptr;
  int depth = 0;
  // For regions: outer values, in the order of the graph's last inputs.
  std::vector<Value*> captures;
};

// A nested graph. Its inputs are the formal ones, followed by one per capture.
struct Region {
  std::unique_ptr<weft::Graph> graph;
  std::vector<Value*> captures;
  Types outputs;
};

// The formal inputs of a nested graph.
struct RegionInputs {
  absl::Span<const Type> types;
  // The first input counts iterations from 0. Nodes of the region see `first_iteration` added to
  // it, and less than `iterations`, unless that is Invalid().
  bool iterates = false;
  int64_t first_iteration = 0;
  SymInt iterations = SymInt::Invalid();
};

class ModelImporter {
 public:
  ModelImporter(::onnx::ModelProto* model, std::string base_dir, const OnnxImportOptions& options);

  absl::StatusOr<std::unique_ptr<Module>> Run();

  const OnnxImportOptions& options() const { return options_; }
  Module& module() { return *module_; }
  TensorLoader& loader() { return loader_; }

  // The value of a name; an error if it is undefined.
  absl::StatusOr<Value*> Lookup(Scope* scope, const std::string& name);
  absl::Status Define(Scope* scope, const std::string& name, Value* value, int narrow_type = 0);
  // The TensorProto.DataType of a name if it is one of narrow_types.h, else 0.
  int NarrowTypeOf(const Scope* scope, const std::string& name) const;
  // Imports initializers and nodes. The caller defines the inputs.
  absl::Status ImportBody(Scope* scope, const ::onnx::GraphProto& graph);
  // Values of a graph's outputs, by name.
  absl::StatusOr<std::vector<Value*>> Outputs(Scope* scope, const ::onnx::GraphProto& graph);

  // Imports `graph` as a nested graph in `parent`.
  absl::StatusOr<Region> ImportRegion(Scope* parent, const ::onnx::GraphProto& graph,
                                      const RegionInputs& inputs);
  // Imports `graph` as if its nodes were in `parent`.
  absl::StatusOr<std::vector<Value*>> ImportInPlace(Scope* parent, const ::onnx::GraphProto& graph,
                                                    absl::Span<Value* const> inputs = {});
  // Drops a region that is built again.
  void Discard(Region region) { discarded_.push_back(std::move(region.graph)); }

  // The size that an input with a given value has in the dim whose expression is `symbol`.
  std::optional<int64_t> GivenSize(SymInt symbol) const;
  // Marks `value`, a graph input with a value in the options, as specialised; null for other
  // values.
  const HostTensor* Specialize(const Value* value);
  // The value of `v` if it follows from constants alone (with `specialize`, also from inputs with
  // given values). For small tensors only.
  std::optional<HostTensor> Evaluate(Value* v, bool specialize);
  // Elements of an integer tensor as symbolic integers, if they are known.
  std::optional<std::vector<SymInt>> KnownInts(Value* v);
  // The single element of `v` as an expression of known integers, of numbers of iterations and of
  // scalars that Item has read; nullopt if it is not one.
  std::optional<SymInt> KnownElement(Builder* b, Value* v);
  // The single element of `v` as the symbol of an `item` node, the same one at each call; null
  // after an error of `b`.
  std::optional<SymInt> Item(Builder* b, Value* v);

 private:
  friend class NodeContext;
  absl::Status CheckHeader();
  absl::Status DeclareDimParams();
  absl::Status AddInputs(Scope* scope);
  absl::StatusOr<Type> InputType(const ::onnx::ValueInfoProto& info);
  SymInt InputDim(const ::onnx::TensorShapeProto::Dimension& dim);
  // Assigns the options' positional values to input names.
  void NameValues(absl::Span<const ::onnx::ValueInfoProto* const> inputs);
  const HostTensor* GivenValue(const ::onnx::ValueInfoProto& info) const;
  absl::Status SetMainOutputs(Scope* scope);
  absl::Status ImportNodes(Scope* scope, const NodeProtos& nodes);
  absl::Status ImportNode(Scope* scope, const ::onnx::NodeProto& node);
  // Handles inputs of the types of narrow_types.h: sets the types of outputs, or fails if the
  // operator does not support them.
  absl::Status PassNarrowTypes(NodeContext& c);
  absl::Status CallFunction(NodeContext& c, const ::onnx::FunctionProto& function);
  // `outer` belongs to `definer`'s graph; makes it an input of the scopes' graphs from there down
  // to `user`.
  absl::StatusOr<Value*> Capture(Scope* user, Scope* definer, const std::string& name,
                                 Value* outer);
  absl::Status TooDeep() const;
  // Binds `graph`'s formal inputs to these values in its `scope`. A scalar that the model declares
  // as [1] gets that shape.
  absl::Status DefineInputs(Scope* scope, const ::onnx::GraphProto& graph,
                            absl::Span<Value* const> values);
  absl::Status TooLarge(const Scope& scope) const;

  ::onnx::ModelProto* model_;
  OnnxImportOptions options_;
  std::map<std::string, HostTensor> input_values_;
  TensorLoader loader_;
  std::unique_ptr<Module> module_;
  SymbolicValues symbolic_;
  // Nested graphs that were built and dropped; they stay alive because `symbolic_` is keyed by
  // address.
  std::vector<std::unique_ptr<weft::Graph>> discarded_;
  Opsets opsets_;
  FunctionTable functions_;
  std::map<std::string, std::string> dim_params_;  // Symbol names by dim_param.
  // Inputs of `main` with a value in the options.
  absl::flat_hash_map<const Value*, const HostTensor*> given_;
  absl::flat_hash_map<SymInt, int64_t> given_sizes_;
  // By scalar, as in OneElementOf: the symbol that Item made.
  absl::flat_hash_map<const Value*, SymInt> items_;
  // Scalars that count iterations, with their number, or Invalid().
  absl::flat_hash_map<const Value*, SymInt> iterations_;
  int64_t nodes_imported_ = 0;
};

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_MODEL_H_
