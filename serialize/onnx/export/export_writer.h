// Writes the nodes of an ONNX model: names, initializers, casts, sizes.
//
// A ModelWriter holds what the whole model shares: names (unique over all
// graphs), initializers, the first error. A GraphWriter writes one graph of it;
// nested graphs have one of their own and see the values of those around them.
//
// Errors stick, as in Builder: after the first one, calls return values that
// may be used, and ModelWriter::status() tells what went wrong.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_WRITER_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_WRITER_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/export/export_dtypes.h"

namespace weft {
class Module;
class Value;
}  // namespace weft

namespace weft::onnx_export {

class GraphWriter;

// A value of the ONNX model.
struct OnnxValue {
  std::string name;
  DType dtype = DType::kF32;
  // The graph whose node gives it; null for initializers.
  const GraphWriter* graph = nullptr;
  // Index of that node; -1 for inputs of the graph.
  int node = -1;
  // Another part of the model may use it already: it keeps its name.
  bool shared = false;
};

// Null stands for an absent optional input.
using Val = OnnxValue*;

// An attribute of a node; those that are graphs are added by hand.
struct OnnxAttr {
  absl::string_view name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
               std::vector<std::string>>
      value;
};
using OnnxAttrs = std::vector<OnnxAttr>;

// Where a constant goes that is not stored in the model.
struct ExternalTensor {
  HostTensor tensor;
  int64_t offset = 0;
};

class ModelWriter {
 public:
  // `module` is the one that is written. `max_bytes`: of all initializers that
  // are stored in the model.
  ModelWriter(const Module& module, int opset, int64_t max_bytes, onnx::GraphProto* main)
      : module_(module), opset_(opset), schemas_(opset), main_(main), bytes_left_(max_bytes) {}

  const Module& module() const { return module_; }
  int opset() const { return opset_; }
  OperatorSchemas& schemas() { return schemas_; }

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  // The first error since the last call, and no error from then on.
  absl::Status TakeStatus() { return std::exchange(status_, absl::OkStatus()); }

  // `wanted`, or with a number appended when it is taken; from then on taken.
  std::string UniqueName(absl::string_view wanted);
  Val NewValue(std::string name, DType dtype);

  // Initializers of the main graph. Equal helper constants are one.
  Val AddInitializer(const HostTensor& tensor, std::string name);
  Val StoredConstant(int id);
  Val HelperConstant(const HostTensor& tensor);

  // Tensors of at least `bytes` bytes get data_location EXTERNAL in `file`.
  void UseExternalData(std::string file, int64_t bytes) {
    external_file_ = std::move(file);
    external_bytes_ = bytes;
  }
  const std::vector<ExternalTensor>& external() const { return external_; }

  // Whether products with packed weights become MatMulNBits (export_nbits.h).
  bool packs_weights() const { return packs_weights_; }
  void set_packs_weights(bool packs) { packs_weights_ = packs; }

  // Domains of operators other than ONNX's own, in order of their names.
  void UseDomain(absl::string_view domain) { domains_.insert(std::string(domain)); }
  const std::set<std::string>& domains() const { return domains_; }

  // The TensorProto.DataType; an error sticks.
  int DataType(DType dtype);
  // Fills in the type of an input or output.
  void SetType(Type type, onnx::ValueInfoProto* info);

 private:
  const Module& module_;
  int opset_;
  OperatorSchemas schemas_;
  onnx::GraphProto* main_;
  absl::Status status_;
  std::deque<OnnxValue> values_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int> next_suffix_;
  std::vector<Val> stored_;  // By id in the module's constant store.
  absl::flat_hash_map<uint64_t, std::vector<std::pair<HostTensor, Val>>> helpers_;
  int64_t bytes_left_;
  std::string external_file_;
  int64_t external_bytes_ = -1;
  int64_t external_end_ = 0;
  std::vector<ExternalTensor> external_;
  std::set<std::string> domains_;
  bool packs_weights_ = false;
};

class GraphWriter {
 public:
  // `outer`: the graph around this one, or null.
  GraphWriter(ModelWriter* model, GraphWriter* outer, onnx::GraphProto* proto)
      : model_(model), outer_(outer), proto_(proto) {}
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;

  ModelWriter& model() { return *model_; }
  int opset() const { return model_->opset(); }
  onnx::GraphProto* proto() { return proto_; }

  // --- Values of the Weft graph.
  // Null when not defined.
  Val Find(const Value* value) const;
  // Also tells which sizes of `value` are which symbols.
  void Define(const Value* value, Val val);
  void DefineSymbols(Type type, Val val);
  // An input of the graph, with a name like `name`. A symint is an i64 scalar.
  Val AddInput(Type type, absl::string_view name);
  void AddOutput(Type type, const std::string& name);

  // --- Nodes.
  // Names of the nodes that follow, and their doc_string.
  void BeginNode(std::string name, std::string doc);
  // Takes back the nodes since then.
  void Rollback();
  int num_nodes() const { return proto_->node_size(); }
  // One output. `output`: its dtype when the inputs do not determine it.
  Val Op(absl::string_view op_type, absl::Span<const Val> inputs, const OnnxAttrs& attrs = {},
         std::optional<DType> output = std::nullopt);
  // Several outputs; those not wanted are null.
  std::vector<Val> Ops(absl::string_view op_type, absl::Span<const Val> inputs,
                       const OnnxAttrs& attrs, const std::vector<bool>& wanted,
                       std::optional<DType> output = std::nullopt);
  // One output of `dtype` from an operator of an opset newer than libonnx, or of a domain of its
  // own: without type checks and casts, which are the caller's.
  Val OpAs(absl::string_view op_type, absl::Span<const Val> inputs, const OnnxAttrs& attrs,
           DType dtype, absl::string_view domain = "") {
    return OpsAs(op_type, inputs, attrs, {dtype}, {true}, domain)[0];
  }
  // The same with several outputs; those not wanted are null.
  std::vector<Val> OpsAs(absl::string_view op_type, absl::Span<const Val> inputs,
                         const OnnxAttrs& attrs, const std::vector<DType>& dtypes,
                         const std::vector<bool>& wanted, absl::string_view domain);
  // As Op, but an equal node is made once.
  Val Shared(absl::string_view op_type, absl::Span<const Val> inputs, const OnnxAttrs& attrs = {});
  Val Cast(Val val, DType dtype);
  // A node without type checks, casts and outputs, for control flow.
  onnx::NodeProto* AddNode(absl::string_view op_type);
  // A new output of the node that was added last.
  Val AddOutput(onnx::NodeProto* node, DType dtype);
  // New outputs of that node; those not wanted are null.
  std::vector<Val> AddOutputs(onnx::NodeProto* node, const std::vector<DType>& dtypes,
                              const std::vector<bool>& wanted);

  // `val` under the name `name`, which is taken already: renamed when a node
  // since the last BeginNode gives it, else copied by an Identity.
  void NameValue(Val val, const std::string& name);

  // --- Constants.
  Val Tensor(const HostTensor& tensor) { return model_->HelperConstant(tensor); }
  Val Scalar(DType dtype, double value) { return Tensor(HostTensor::Scalar(dtype, value)); }
  // i64[n]
  Val Ints(absl::Span<const int64_t> values);
  Val Ints(std::initializer_list<int64_t> values) {
    return Ints(absl::MakeConstSpan(values.begin(), values.size()));
  }

  // --- Sizes, computed once each: export_sizes.cc.
  Val Size(SymInt size);                      // i64[1]
  Val ScalarSize(SymInt size);                // i64[]
  Val Sizes(absl::Span<const SymInt> sizes);  // i64[n]

 private:
  // symbol = floor((value's size `dim` - offset) / divisor); dim -1: `value`
  // itself, an i64[1].
  struct SymbolDefinition {
    Val value = nullptr;
    int dim = -1;
    int64_t offset = 0;
    int64_t divisor = 1;
  };
  const SymbolDefinition* FindSymbol(SymInt symbol) const;
  void DefineSize(SymInt size, Val val, int dim);
  Val SymbolValue(SymInt symbol);
  Val ComputeSize(SymInt size);
  Val SumOrProduct(SymInt size);
  Val FloorDivSize(SymInt size);
  Val BroadcastSizeValue(SymInt size);

  ModelWriter* model_;
  GraphWriter* outer_;
  onnx::GraphProto* proto_;
  std::vector<Val> values_;  // By id of the Weft value.
  absl::flat_hash_map<SymInt, SymbolDefinition> symbols_;
  absl::flat_hash_map<SymInt, Val> sizes_;
  absl::flat_hash_map<std::string, Val> shared_;
  // What was put into sizes_ and shared_ since BeginNode.
  std::vector<SymInt> new_sizes_;
  std::vector<std::string> new_shared_;
  std::string node_name_ = "node";
  std::string node_doc_;
  int first_node_ = 0;  // Of those since BeginNode.
};

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_WRITER_H_
