// Writes graphs: inputs, nodes in order, outputs.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_GRAPH_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "serialize/onnx/export/export_node.h"
#include "serialize/onnx/export/export_writer.h"

namespace weft {
class Graph;
class Module;
class Node;
class Value;
}  // namespace weft

namespace weft::onnx_export {

// For the graphs of one model. Composites are decomposed in place as they are
// met, so the module must be a copy.
class GraphExporter {
 public:
  GraphExporter(Module* module, ModelWriter* model) : module_(module), model_(model) {}

  // `main`, into `proto`. Unimplemented with all that has no form in ONNX.
  absl::Status ExportMain(onnx::GraphProto* proto);
  // See NodeExport::Region.
  absl::Status ExportRegion(Graph* graph, GraphWriter* outer, absl::Span<const Val> inputs,
                            onnx::GraphProto* proto);

 private:
  // Values that are outputs of `main`, and the first name of each.
  using OutputNames = absl::flat_hash_map<const Value*, std::string>;

  void ExportNodes(Graph* graph, GraphWriter* w, OutputNames* names);
  // Null, or the first node that stands for it now.
  Node* ExportNode(Node* node, GraphWriter* w, OutputNames* names);
  Node* Decompose(Node* node, GraphWriter* w, OutputNames* names);
  absl::Status Finish(const NodeExport& e, GraphWriter* w, const OutputNames& names);
  void Refuse(const Node& node, GraphWriter* w, const absl::Status& why);
  std::string NameOf(const Node& node) const;

  Module* module_;
  ModelWriter* model_;
  // Outputs of `main` that a node gives under their name.
  absl::flat_hash_set<std::string> named_outputs_;
  int depth_ = 0;
  int64_t decompositions_ = 0;
  absl::Status error_;  // Other than refusals.
  std::vector<std::string> refusals_;
  absl::flat_hash_set<std::string> refused_;  // "op: why", once each.
};

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_GRAPH_H_
