// One model being imported: scopes of names, functions, nested graphs.
//
// A Scope is a graph of the model, a function's body, or a branch that is
// imported in place. Its names map to values of one Weft graph. Regions (bodies
// of control flow) are isolated in Weft: a name from outside becomes an input
// of the region's graph, and the outer value is listed in `captures`; constants
// and known integers are made anew inside instead.
//
// Nesting is bounded (OnnxImportOptions::max_nesting); everything else is
// iterative.
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
class Value;
}  // namespace weft

namespace weft::onnx_import {

using NodeProtos = ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// What OnnxImportOptions::progress counts to: half of it for the file, half for the nodes of the
// model's graph.
inline constexpr int64_t kImportUnits = 1000;

// The newest opset of ai.onnx that the tables were written against.
inline constexpr int kMaxOpset = 28;

// Versions by domain; "" stands for ai.onnx.
using Opsets = std::map<std::string, int>;
std::string NormalizeDomain(absl::string_view domain);
// The version of a (normalised) domain in force. Exporters forget to import the
// domains of vendors: those count as version 1. 0: ai.onnx is not imported.
int OpsetOf(const Opsets& opsets, const std::string& domain);

// A call of a model-local function (or of an operator's function body).
struct FunctionFrame {
  const FunctionFrame* caller = nullptr;
  const ::onnx::FunctionProto* function = nullptr;
  // What `ref_attr_name` refers to.
  std::map<std::string, const ::onnx::AttributeProto*> attributes;
  Opsets opsets;
  std::string prefix;  // Of node names: the names of the calls.
};

// The name of what a call makes: `name` behind those of the calls, cut in the
// middle where it is long.
std::string InlinedName(const FunctionFrame* frame, absl::string_view name);

// A node's name, or that of its first output.
std::string NodeName(const ::onnx::NodeProto& node);
// "Conv node 'conv1'".
std::string DescribeNode(const ::onnx::NodeProto& node);
// "domain::Type", or "Type" for ai.onnx.
std::string OperatorName(const ::onnx::NodeProto& node);

// Nodes in an order in which every name is defined before it is used, nested
// graphs included: the given one where it is such an order. An error for names
// that two nodes define, and for cycles.
absl::StatusOr<std::vector<int>> OrderNodes(const NodeProtos& nodes);

// The model's functions by domain, name and overload.
class FunctionTable {
 public:
  absl::Status Add(const ::onnx::FunctionProto& function);
  const ::onnx::FunctionProto* Find(const ::onnx::NodeProto& node) const;
  // `attribute_proto`: the attributes with defaults.
  const std::vector<::onnx::AttributeProto>& Defaults(const ::onnx::FunctionProto* function) const;
  // What the function imports; the model's versions where it is silent.
  Opsets OpsetsOf(const ::onnx::FunctionProto& function, const Opsets& model) const;

 private:
  struct Entry {
    const ::onnx::FunctionProto* function;
    std::vector<::onnx::AttributeProto> defaults;
  };
  std::map<std::string, Entry> by_key_;
  absl::flat_hash_map<const ::onnx::FunctionProto*, const Entry*> entries_;
};

// OK, or one Unimplemented error that lists all operators of the model that
// cannot be imported, with the names of their nodes.
absl::Status CheckOperators(const ::onnx::ModelProto& model, const Opsets& opsets,
                            const FunctionTable& functions);

struct Scope {
  Scope(Scope* parent, weft::Graph* graph) : parent(parent), graph(graph), builder(graph) {
    if (parent == nullptr) return;
    opsets = parent->opsets;
    frame = parent->frame;
    depth = parent->depth + 1;
  }

  Scope* parent;  // Its names are visible too. Null in functions.
  weft::Graph* graph;
  Builder builder;
  absl::flat_hash_map<std::string, Value*> values;
  // Names of values whose element type is one of narrow_types.h: the TensorProto.DataType; 0 for
  // a name that is none, although an outer scope has one of that name.
  absl::flat_hash_map<std::string, int> narrow;
  // Not yet made into constants.
  absl::flat_hash_map<std::string, ::onnx::TensorProto*> initializers;
  const Opsets* opsets = nullptr;
  const FunctionFrame* frame = nullptr;
  int depth = 0;
  // Of regions: outer values, in the order of the graph's last inputs.
  std::vector<Value*> captures;
};

// A nested graph. Its inputs are the formal ones, then one for each capture.
struct Region {
  std::unique_ptr<weft::Graph> graph;
  std::vector<Value*> captures;
  Types outputs;
};

// The formal inputs of a nested graph.
struct RegionInputs {
  absl::Span<const Type> types;
  // The first one counts iterations from 0: the region's nodes see `first_iteration` more, and
  // less than `iterations`, unless that is Invalid().
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

  // The value of a name; an error when nothing defines it.
  absl::StatusOr<Value*> Lookup(Scope* scope, const std::string& name);
  absl::Status Define(Scope* scope, const std::string& name, Value* value, int narrow_type = 0);
  // The element type of a name that is one of narrow_types.h, else 0.
  int NarrowTypeOf(const Scope* scope, const std::string& name) const;
  // Initializers and nodes. The caller defines the inputs.
  absl::Status ImportBody(Scope* scope, const ::onnx::GraphProto& graph);
  // A graph's outputs, by name.
  absl::StatusOr<std::vector<Value*>> Outputs(Scope* scope, const ::onnx::GraphProto& graph);

  // `graph` as a nested graph in `parent`.
  absl::StatusOr<Region> ImportRegion(Scope* parent, const ::onnx::GraphProto& graph,
                                      const RegionInputs& inputs);
  // `graph` in place, as if its nodes stood in `parent`.
  absl::StatusOr<std::vector<Value*>> ImportInPlace(Scope* parent, const ::onnx::GraphProto& graph,
                                                    absl::Span<Value* const> inputs = {});
  // For a region that is built again.
  void Discard(Region region) { discarded_.push_back(std::move(region.graph)); }

  // The size that an input with a given value has in the dim that is `symbol` alone.
  std::optional<int64_t> GivenSize(SymInt symbol) const;
  // Marks `value`, a graph input with a value in the options, as specialised;
  // null when it is none.
  const HostTensor* Specialize(const Value* value);
  // The value of `v` when it follows from constants (and, with `specialize`,
  // from inputs with given values) alone. Small tensors only.
  std::optional<HostTensor> Evaluate(Value* v, bool specialize);
  // Elements of an integer tensor as symbolic integers, if known.
  std::optional<std::vector<SymInt>> KnownInts(Value* v);
  // The one element of `v` in terms of known integers, of numbers of iterations and of scalars
  // that Item has read; nullopt where these do not say it.
  std::optional<SymInt> KnownElement(Builder* b, Value* v);
  // The one element of `v` as a symbol that an `item` node defines, the same one each time; null
  // after an error of `b`.
  std::optional<SymInt> Item(Builder* b, Value* v);

 private:
  friend class NodeContext;
  absl::Status CheckHeader();
  absl::Status DeclareDimParams();
  absl::Status AddInputs(Scope* scope);
  absl::StatusOr<Type> InputType(const ::onnx::ValueInfoProto& info);
  SymInt InputDim(const ::onnx::TensorShapeProto::Dimension& dim);
  // Gives the options' positional values their names.
  void NameValues(absl::Span<const ::onnx::ValueInfoProto* const> inputs);
  const HostTensor* GivenValue(const ::onnx::ValueInfoProto& info) const;
  absl::Status SetMainOutputs(Scope* scope);
  absl::Status ImportNodes(Scope* scope, const NodeProtos& nodes);
  absl::Status ImportNode(Scope* scope, const ::onnx::NodeProto& node);
  // For inputs of the types of narrow_types.h: what the outputs are, or that the operator takes
  // none of them.
  absl::Status PassNarrowTypes(NodeContext& c);
  absl::Status CallFunction(NodeContext& c, const ::onnx::FunctionProto& function);
  // `outer` belongs to `definer`'s graph; makes it known in those of the scopes
  // from there down to `user`.
  absl::StatusOr<Value*> Capture(Scope* user, Scope* definer, const std::string& name,
                                 Value* outer);
  absl::Status TooDeep() const;
  // Gives `graph`'s formal inputs these values in its `scope`. A scalar that the model declares
  // as [1] is seen as [1].
  absl::Status DefineInputs(Scope* scope, const ::onnx::GraphProto& graph,
                            absl::Span<Value* const> values);
  absl::Status TooLarge(const Scope& scope) const;

  ::onnx::ModelProto* model_;
  OnnxImportOptions options_;
  std::map<std::string, HostTensor> input_values_;
  TensorLoader loader_;
  std::unique_ptr<Module> module_;
  SymbolicValues symbolic_;
  // Nested graphs that were built and given up; `symbolic_` goes by addresses.
  std::vector<std::unique_ptr<weft::Graph>> discarded_;
  Opsets opsets_;
  FunctionTable functions_;
  std::map<std::string, std::string> dim_params_;  // To symbol names.
  // Inputs of `main` with a value in the options.
  absl::flat_hash_map<const Value*, const HostTensor*> given_;
  absl::flat_hash_map<SymInt, int64_t> given_sizes_;
  // By scalar, as OneElementOf gives it: the symbol that Item made of it.
  absl::flat_hash_map<const Value*, SymInt> items_;
  // Scalars that count iterations: their number, or Invalid().
  absl::flat_hash_map<const Value*, SymInt> iterations_;
  int64_t nodes_imported_ = 0;
};

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_MODEL_H_
