// The report by node: whether it was quantized, and how far its result is from the float one.
#ifndef WEFT_API_QUANTIZE_NODE_REPORT_H_
#define WEFT_API_QUANTIZE_NODE_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/quantize/bias_correction.h"
#include "api/quantize/quantizer.h"
#include "backends/backend.h"
#include "graph/ir/module.h"
#include "passes/engine/remarks.h"

namespace weft {

// A row of the report with its nodes; null where a pass has replaced them.
struct ReportedNode {
  QuantizedNode row;
  // Names of the source nodes.
  std::vector<std::string> names;
  // Nodes of nested graphs are listed, but not measured.
  bool nested = false;
  Node* before = nullptr;
  Node* after = nullptr;
};

// A row for each remark of quantize_annotate that is about a node.
std::vector<ReportedNode> RowsOf(const std::vector<Remark>& remarks);

// Finds the nodes, which fills in the bytes of their weights.
void FindNodes(const Module& before, const Module& after, std::vector<ReportedNode>* rows);

// Signal to noise and cosine of the first results over the batches.
absl::Status Measure(const Module& before, const Module& after,
                     absl::Span<const CalibrationBatch> batches, const Backend& backend,
                     std::vector<ReportedNode>* rows);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_NODE_REPORT_H_
