// The interface of the import function of an operator: one node with its attributes, inputs and
// outputs.
//
// An import function reads attributes and inputs, makes nodes, and sets the
// outputs:
//
//   absl::Status ImportLeakyRelu(NodeContext& c) {
//     c.SetOutput(0, c.Op(ops::leaky_relu, {c.in(0)},
//                         {{"negative_slope", c.Float("alpha", 0.01)}}));
//     return c.status();
//   }
//
// Errors of attributes, of missing inputs and of the builder stick: later calls return harmless
// values (null for values), and status() has the first error, with the node's name. The importer
// checks it after every import function. A null result must not be dereferenced; TypeOf() accepts
// it.
//
// Every attribute of the node must be read (or named in Ignore): it is an error if one is left
// over, so that nothing is silently misread.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_CONTEXT_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_CONTEXT_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/tensor/type.h"
#include "onnx/onnx_pb.h"

namespace weft {
class AttrList;
class HostTensor;
class OpDef;
class Value;
}  // namespace weft

namespace weft::onnx_import {

class ModelImporter;
struct Scope;

// The type of `v`; f32[] for null.
Type TypeOf(const Value* v);

class NodeContext : public NodeMaker {
 public:
  NodeContext(ModelImporter* importer, Scope* scope, const ::onnx::NodeProto& node, int opset);

  // --- The node.
  const std::string& op_type() const { return node_.op_type(); }
  // "Conv node 'conv1'", for messages.
  std::string Describe() const;
  // The version of its domain that the model (or function) imports, for functions that implement
  // several versions of an operator.
  int opset() const { return opset_; }

  // --- Errors.
  const absl::Status& status() const;
  bool ok() const { return status().ok(); }
  // Records an InvalidArgument (Unimplemented) error; the first one is kept. The importer puts
  // Describe() in front of it.
  absl::Status Fail(absl::string_view message);
  absl::Status Unsupported(absl::string_view message);
  // The same for functions that return no status.
  void Record(absl::string_view message);

  // --- Attributes; an absent one has the default.
  bool HasAttr(absl::string_view name);
  int64_t Int(absl::string_view name, int64_t default_value);
  bool Bool(absl::string_view name, bool default_value);
  double Float(absl::string_view name, double default_value);
  std::string Str(absl::string_view name, absl::string_view default_value);
  std::vector<int64_t> Ints(absl::string_view name);
  std::vector<double> Floats(absl::string_view name);
  std::vector<std::string> Strs(absl::string_view name);
  // An ONNX element type (TensorProto.DataType) as a dtype.
  DType Dtype(absl::string_view name, DType default_value);
  // Required attributes: it is an error if they are absent.
  int64_t RequiredInt(absl::string_view name);
  // A tensor attribute. If its type is one of narrow_types.h, output 0 gets that type.
  absl::StatusOr<HostTensor> Tensor(absl::string_view name);
  const ::onnx::GraphProto* Graph(absl::string_view name);  // Null on an error.
  // Marks attributes that have no effect here as read.
  void Ignore(std::initializer_list<absl::string_view> names);

  // --- Inputs.
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[i] != nullptr; }
  // Required input: it is an error if it is absent.
  Value* in(int i);
  // Optional input: null if it is absent.
  Value* opt(int i) const { return has_input(i) ? inputs_[i] : nullptr; }
  // All inputs of a variadic operator; it is an error if any is absent.
  std::vector<Value*> all_inputs();
  // Types of required inputs; f32[] after an error.
  Type type(int i) { return TypeOf(in(i)); }
  DType dtype(int i) { return type(i).dtype(); }
  int rank(int i) { return type(i).rank(); }
  // The TensorProto.DataType of input `i` if it is one of narrow_types.h, else 0.
  int narrow_type(int i) const { return has_input(i) ? narrow_inputs_[i] : 0; }
  // "input 1 ('axes_name')", for messages.
  std::string InputText(int i) const;

  // --- Contents of inputs that are known while importing.
  // The elements of an integer (or bool) tensor as symbolic expressions in row-major order, if they
  // follow from constants and shapes; else nullopt.
  std::optional<std::vector<SymInt>> SymbolicInts(int i);
  // The same, but inputs with a value in options.input_values are specialised to it; otherwise an
  // error that asks for the value.
  absl::StatusOr<std::vector<SymInt>> RequireInts(int i);
  absl::StatusOr<std::vector<int64_t>> RequireConstantInts(int i);
  absl::StatusOr<int64_t> RequireConstantInt(int i);  // One element.
  // The same for any dtype.
  absl::StatusOr<HostTensor> RequireConstant(int i);
  absl::StatusOr<double> RequireConstantFloat(int i);  // One element.
  absl::StatusOr<std::vector<double>> RequireConstantFloats(int i);
  // The literal if the input is one, or is computed from literals alone.
  std::optional<HostTensor> ConstantTensor(int i);
  // As RequireInts, but nullopt if the contents are unknown.
  absl::StatusOr<std::optional<std::vector<SymInt>>> KnownOrGivenInts(int i);
  // An error unless input `i` has rank 0 or 1 and a constant length.
  absl::Status CheckLengthKnown(int i);
  // The elements of an integer tensor of rank 0 or 1 as symbolic integers: known (or given)
  // elements as they are, others as the unbacked symbol of an `item` node. The length of the tensor
  // must be known. `sizes`: the symbols are sizes, so not negative.
  absl::StatusOr<std::vector<SymInt>> SizesFromTensor(int i, bool sizes = true);
  absl::StatusOr<std::vector<SymInt>> SizesFromValue(Value* v, bool sizes = true);

  // --- Outputs.
  int num_outputs() const { return node_.output_size(); }
  // True if the node names output `i`.
  bool wants_output(int i) const { return i < node_.output_size() && !node_.output(i).empty(); }
  // Sets an output; outputs that the node does not name are dropped. Null is allowed after an
  // error.
  void SetOutput(int i, Value* v);
  void SetOutputs(absl::Span<Value* const> values);
  // Marks output `i` as having an element type of narrow_types.h.
  void SetNarrowType(int i, int data_type) { narrow_outputs_[i] = data_type; }

  // --- Making nodes.
  Builder& b();
  std::vector<Value*> Create(const OpDef& op, absl::Span<Value* const> operands,
                             const AttrList* attrs) override {
    return b().Create(op, operands, attrs);
  }
  Value* Op(const OpDef& op, std::initializer_list<Value*> operands,
            std::initializer_list<NamedAttr> attrs = {}) {
    return b().Op(op, operands, attrs);
  }
  // `axis` in [-rank, rank) (`inclusive`: [-rank, rank]) as a dim; a negative one counts from the
  // end.
  absl::StatusOr<int> Axis(int64_t axis, int rank, bool inclusive = false);
  absl::StatusOr<std::vector<int64_t>> Axes(absl::Span<const int64_t> axes, int rank);

  // --- For control flow.
  ModelImporter* importer() const { return importer_; }
  Scope* scope() const { return scope_; }
  const ::onnx::NodeProto& node() const { return node_; }

 private:
  friend class ModelImporter;
  using AttributeType = ::onnx::AttributeProto::AttributeType;
  // Marks the attribute as read; null if it is absent.
  const ::onnx::AttributeProto* Find(absl::string_view name);
  // Null, with an error, if it has another type.
  const ::onnx::AttributeProto* Find(absl::string_view name, AttributeType type);
  absl::Status MustKnow(int i);
  // Called after the import function: returns its errors, or one for attributes that were not read.
  absl::Status Finish(absl::Status returned);

  ModelImporter* importer_;
  Scope* scope_;
  const ::onnx::NodeProto& node_;
  int opset_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<int> narrow_inputs_;
  std::vector<int> narrow_outputs_;
  std::vector<bool> attrs_read_;
};

// An operator and the versions (since opset 6) that `fn` implements. The importer chooses the
// greatest version that is not above the model's opset.
using ImportFn = absl::Status (*)(NodeContext&);

struct OnnxOp {
  const char* op_type;
  std::array<int, 10> versions;  // Ends at the first 0.
  ImportFn fn;
  const char* domain = "";
};

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_CONTEXT_H_
