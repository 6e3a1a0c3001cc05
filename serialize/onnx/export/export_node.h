// What the export function of an op sees: one node.
//
// An export function writes operators and sets the outputs that are used:
//
//   absl::Status ExportSoftmax(NodeExport& e) {
//     e.SetOutput(0, e.Op("Softmax", {e.in(0)}, {{"axis", e.Int("dim")}}));
//     return absl::OkStatus();
//   }
//
// When a node has no form in the opset it returns Unsupported(why), whatever it
// has written so far: that is taken back, and the node is decomposed or listed
// as an error. The same happens when an operator does not take a dtype.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_NODE_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_NODE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/attrs.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "serialize/onnx/export/export_writer.h"

namespace weft {
class Node;
class OpDef;
class SymbolTable;
}  // namespace weft

namespace weft::onnx_export {

class GraphExporter;

class NodeExport {
 public:
  NodeExport(GraphExporter* exporter, GraphWriter* writer, const Node& node, const char* op_type)
      : exporter_(exporter), w_(writer), node_(node), op_type_(op_type) {}

  const Node& node() const { return node_; }
  // The operator that the table names, for functions of several ops.
  const char* op_type() const { return op_type_; }
  int opset() const { return w_->opset(); }
  const SymbolTable& facts() const;
  // UnimplementedError of the concatenated pieces.
  template <typename... Pieces>
  static absl::Status Unsupported(const Pieces&... pieces) {
    return absl::UnimplementedError(absl::StrCat(pieces...));
  }
  absl::Status NeedsOpset(int opset) const { return Unsupported("needs opset ", opset); }

  // --- Operands. A symint is an i64[1].
  int num_operands() const;
  bool has(int i) const;
  Val in(int i) const;  // Null when absent.
  std::vector<Val> ins() const;
  Type type(int i = 0) const;
  DType dtype(int i = 0) const { return type(i).dtype(); }
  int rank(int i = 0) const { return type(i).rank(); }
  // The literal that operand `i` is; null for others.
  const HostTensor* literal(int i) const;

  // --- Results.
  Type out_type(int i = 0) const;
  bool used(int i) const;
  void SetOutput(int i, Val val);

  // --- Attributes.
  Attrs attrs() const;
  int64_t Int(absl::string_view name) const { return attrs().Int(name); }
  int64_t Flag(absl::string_view name) const { return attrs().Bool(name); }
  // A dim, counted from the front.
  int64_t Dim(absl::string_view name, int rank) const;
  std::vector<int64_t> Dims(absl::string_view name, int rank) const;
  // Attributes of ONNX are f32: a function of f64 needs one that is exact in it.
  absl::Status CheckFits(double attr) const;
  // Of SymInt[]: nullopt when one is symbolic.
  std::optional<std::vector<int64_t>> Constants(absl::string_view name) const {
    return AllConstant(attrs().Syms(name));
  }

  // --- Operators and values: see GraphWriter.
  GraphWriter& w() { return *w_; }
  Val Op(absl::string_view op_type, std::initializer_list<Val> inputs, const OnnxAttrs& attrs = {},
         std::optional<DType> output = std::nullopt) {
    return w_->Op(op_type, Span(inputs), attrs, output);
  }
  std::vector<Val> Ops(absl::string_view op_type, std::initializer_list<Val> inputs,
                       const OnnxAttrs& attrs, const std::vector<bool>& wanted,
                       std::optional<DType> output = std::nullopt) {
    return w_->Ops(op_type, Span(inputs), attrs, wanted, output);
  }
  Val Cast(Val val, DType dtype) { return w_->Cast(val, dtype); }
  Val Scalar(DType dtype, double value) { return w_->Scalar(dtype, value); }
  Val Ints(absl::Span<const int64_t> values) { return w_->Ints(values); }
  Val Ints(std::initializer_list<int64_t> values) { return w_->Ints(values); }
  Val IntScalar(int64_t value) { return w_->Tensor(HostTensor::ScalarInt(DType::kI64, value)); }
  Val Size(SymInt size) { return w_->Size(size); }
  Val ScalarSize(SymInt size) { return w_->ScalarSize(size); }
  Val Sizes(absl::Span<const SymInt> sizes) { return w_->Sizes(sizes); }
  // Reshape to sizes; the operator's 0 and -1 are used where they are safe.
  // `from`: the dims of `val`.
  Val Reshape(Val val, absl::Span<const SymInt> from, absl::Span<const SymInt> to);
  // `value` in every element.
  Val Full(absl::Span<const SymInt> sizes, const HostTensor& value);

  // --- Nested graphs.
  // Writes region `region`. Its input `i` is inputs[i] of the graph around it,
  // or, where that is null, an input of the nested graph.
  absl::Status Region(int region, absl::Span<const Val> inputs, onnx::GraphProto* proto);

  // The value for result `i`, null when not set.
  Val output(int i) const { return i < static_cast<int>(outputs_.size()) ? outputs_[i] : nullptr; }

 private:
  static absl::Span<const Val> Span(std::initializer_list<Val> v) {
    return absl::MakeConstSpan(v.begin(), v.size());
  }

  GraphExporter* exporter_;
  GraphWriter* w_;
  const Node& node_;
  const char* op_type_;
  std::vector<Val> outputs_;
};

using ExportFn = absl::Status (*)(NodeExport&);

struct ExportEntry {
  const OpDef* op;
  // Null: no form of its own, `limits` says why. Composites are decomposed.
  ExportFn fn;
  const char* op_type = "";
  // What `fn` refuses, for the coverage report.
  const char* limits = "";
};

// The operator `op_type` on all operands, with one output.
absl::Status ExportDirect(NodeExport& e);

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_NODE_H_
