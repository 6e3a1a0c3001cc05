#include "api/quantize/node_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/quantize/node_pairs.h"
#include "api/quantize/node_values.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Sums over all elements of all batches.
struct Agreement {
  double exact = 0;
  double quantized = 0;
  double both = 0;
  double noise = 0;

  void Add(const HostTensor& x, const HostTensor& y) {
    const std::vector<double> a = x.ReadDoubles(), b = y.ReadDoubles();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      exact += a[i] * a[i];
      quantized += b[i] * b[i];
      both += a[i] * b[i];
      noise += (a[i] - b[i]) * (a[i] - b[i]);
    }
  }
  double sqnr_db() const {
    if (noise == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(exact / noise);
  }
  double cosine() const {
    if (noise == 0) return 1;
    return both / std::sqrt(exact * quantized);
  }
};

// Bytes of the operands that are literals, or literals behind a dequantize_linear; the scales
// count.
int64_t WeightBytes(const Node& node) {
  int64_t bytes = 0;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    const Value* value = node.operand(i);
    if (const HostTensor* literal = LiteralOf(value)) bytes += literal->bytes();
    if (!value->IsResultOf(ops::dequantize_linear)) continue;
    const Node& dequantize = *value->node();
    if (LiteralOf(dequantize.operand(0)) == nullptr) continue;
    for (int k = 0; k < dequantize.num_operands(); ++k) {
      if (!dequantize.has_operand(k)) continue;
      const HostTensor* literal = LiteralOf(dequantize.operand(k));
      if (literal != nullptr) bytes += literal->bytes();
    }
  }
  return bytes;
}

// Elements of results that are held at a time, if that takes no more than so many parts: each
// makes and runs both programs anew.
constexpr int64_t kMaxElements = int64_t{1} << 24;
constexpr int64_t kMaxParts = 4;
constexpr int64_t kFirstNodes = 4;

// Results of some nodes by batch. The session is gone afterwards: the weights of the two modules
// are not packed at the same time.
absl::StatusOr<std::vector<std::vector<HostTensor>>> ResultsOf(
    const Module& module, absl::Span<Node* const> nodes, absl::Span<const CalibrationBatch> batches,
    const Backend& backend) {
  WEFT_ASSIGN_OR_RETURN(NodeValues values, NodeValues::Create(module, nodes, backend, {}));
  std::vector<std::vector<HostTensor>> results;
  for (const CalibrationBatch& batch : batches) {
    WEFT_ASSIGN_OR_RETURN(results.emplace_back(), values.Run(batch));
  }
  return results;
}

bool IsFloatResult(const Node& node) {
  return node.num_results() > 0 && node.result()->type().is_tensor() &&
         IsFloat(node.result()->type().dtype());
}

}  // namespace

std::vector<ReportedNode> RowsOf(const std::vector<Remark>& remarks) {
  std::vector<ReportedNode> rows;
  for (const Remark& remark : remarks) {
    if (remark.pass != "quantize_annotate" || remark.node < 0) continue;
    QuantizedNode row;
    row.name = absl::StrJoin(remark.provenance, ",");
    row.op = remark.op;
    row.quantized = remark.kind == RemarkKind::kPassed;
    row.reason = remark.reason;
    row.sqnr_db = row.cosine = std::numeric_limits<double>::quiet_NaN();
    rows.push_back({std::move(row), remark.provenance, remark.function != "main"});
  }
  return rows;
}

void FindNodes(const Module& before, const Module& after, std::vector<ReportedNode>* rows) {
  NodeIndex exact(*before.main()), quantized(*after.main());
  for (ReportedNode& row : *rows) {
    if (row.nested) continue;
    row.before = exact.Take(row.row.op, row.names);
    row.after = quantized.Take(row.row.op, row.names);
    if (row.before == nullptr || row.after == nullptr) continue;
    row.row.weight_bytes_before = WeightBytes(*row.before);
    row.row.weight_bytes_after = WeightBytes(*row.after);
  }
}

namespace {

// Measures some rows; returns how many elements their results have over all batches.
absl::StatusOr<int64_t> MeasureSome(const Module& before, const Module& after,
                                    absl::Span<const CalibrationBatch> batches,
                                    const Backend& backend,
                                    absl::Span<ReportedNode* const> measured) {
  std::vector<Node*> exact_nodes, quantized_nodes;
  for (const ReportedNode* row : measured) {
    exact_nodes.push_back(row->before);
    quantized_nodes.push_back(row->after);
  }
  WEFT_ASSIGN_OR_RETURN(const auto exact, ResultsOf(before, exact_nodes, batches, backend));
  WEFT_ASSIGN_OR_RETURN(NodeValues quantized,
                        NodeValues::Create(after, quantized_nodes, backend, {}));
  int64_t elements = 0;
  std::vector<Agreement> sums(measured.size());
  for (size_t k = 0; k < batches.size(); ++k) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> y, quantized.Run(batches[k]));
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i].Add(exact[k][i], y[i]);
      elements += y[i].numel();
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    measured[i]->row.sqnr_db = sums[i].sqnr_db();
    measured[i]->row.cosine = sums[i].cosine();
  }
  return elements;
}

}  // namespace

absl::Status Measure(const Module& before, const Module& after,
                     absl::Span<const CalibrationBatch> batches, const Backend& backend,
                     std::vector<ReportedNode>* rows) {
  std::vector<ReportedNode*> measured;
  for (ReportedNode& row : *rows) {
    const bool found = row.before != nullptr && row.after != nullptr;
    if (found && IsFloatResult(*row.before) && IsFloatResult(*row.after)) measured.push_back(&row);
  }
  if (batches.empty()) return absl::OkStatus();
  // The first part says how large results are.
  int64_t at_a_time = kFirstNodes;
  for (size_t from = 0; from < measured.size();) {
    const auto some = absl::MakeConstSpan(measured).subspan(from, at_a_time);
    WEFT_ASSIGN_OR_RETURN(const int64_t elements,
                          MeasureSome(before, after, batches, backend, some));
    from += some.size();
    const int64_t each = std::max<int64_t>(1, elements / static_cast<int64_t>(some.size()));
    const auto all = static_cast<int64_t>(measured.size());
    at_a_time = std::max(kMaxElements / each, (all + kMaxParts - 1) / kMaxParts);
  }
  return absl::OkStatus();
}

}  // namespace weft
