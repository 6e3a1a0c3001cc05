#include "api/quantize/round_weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "api/quantize/node_values.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "passes/quantize/element_layout.h"
#include "passes/quantize/gptq.h"
#include "passes/quantize/note.h"

namespace weft {
namespace {

constexpr int kWeight = 1;
constexpr int64_t kMaxColumns = 8192;
// Elements of the moments that are gathered at a time.
constexpr int64_t kMaxMoments = int64_t{1} << 27;

// The float weight of a product beside its codes.
struct WeightCodes {
  Node* product = nullptr;
  Node* dequantize = nullptr;
  // A matmul has its weight the other way round.
  bool turned = false;
  GridMatrix matrix;
  std::vector<int64_t> codes;
};

QuantSpec SpecOf(const ops::DequantizeLinearView& view, const HostTensor& scale) {
  QuantSpec spec;
  spec.axis = static_cast<int>(view.axis());
  spec.block = view.block_size();
  if (scale.numel() == 1) return spec;
  spec.granularity = spec.block > 0 ? QuantGranularity::kBlock : QuantGranularity::kAxis;
  return spec;
}

// Codes, scales and zero points of a dequantized constant, as they lie in the tensor. The codes in
// use bound the new ones, as the spec may have left some of the dtype's out.
bool ReadCodes(const Node& dequantize, WeightCodes* weight) {
  const ops::DequantizeLinearView view(dequantize);
  const HostTensor* codes = LiteralOf(view.self());
  const HostTensor* scale = LiteralOf(view.scale());
  const bool plain = codes != nullptr && scale != nullptr && IsInt(codes->dtype()) &&
                     view.block_shape().empty() && codes->rank() == 2 && codes->numel() > 0;
  if (!plain) return false;
  const HostTensor* zero = view.zero_point() == nullptr ? nullptr : LiteralOf(view.zero_point());
  if (zero == nullptr && view.zero_point() != nullptr) return false;
  const auto layout = ElementLayoutOf(SpecOf(view, *scale), codes->dims());
  if (!layout.ok() || layout->num_scales != scale->numel()) return false;
  if (zero != nullptr && zero->numel() != scale->numel()) return false;
  weight->codes = codes->ReadInts();
  const auto [low, high] = std::minmax_element(weight->codes.begin(), weight->codes.end());
  GridMatrix& matrix = weight->matrix;
  matrix.low = *low;
  matrix.high = *high;
  const std::vector<double> scales = scale->ReadDoubles();
  const std::vector<double> zeros = zero == nullptr ? std::vector<double>() : zero->ReadDoubles();
  for (int64_t i = 0; i < codes->numel(); ++i) {
    const int64_t k = layout->ScaleOf(i);
    matrix.scales.push_back(static_cast<float>(scales[k]));
    matrix.zero_points.push_back(zeros.empty() ? 0 : static_cast<float>(zeros[k]));
  }
  return true;
}

// [rows, columns] from [columns, rows].
template <typename T>
std::vector<T> Turned(const std::vector<T>& values, int64_t rows, int64_t columns) {
  std::vector<T> turned(values.size());
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t r = 0; r < rows; ++r) turned[r * columns + k] = values[k * rows + r];
  }
  return turned;
}

std::optional<WeightCodes> WeightOf(const QuantizedProduct& product) {
  WeightCodes weight;
  const Node& before = *product.before;
  weight.product = product.after;
  weight.turned = product.after->Is(ops::matmul);
  if (!weight.turned && !product.after->Is(ops::linear)) return std::nullopt;
  const Value* operand = product.after->operand(kWeight);
  const HostTensor* exact = LiteralOf(before.operand(kWeight));
  if (exact == nullptr || !operand->IsResultOf(ops::dequantize_linear)) return std::nullopt;
  weight.dequantize = operand->node();
  if (!ReadCodes(*weight.dequantize, &weight)) return std::nullopt;
  const HostTensor& codes = *LiteralOf(weight.dequantize->operand(0));
  if (exact->dims() != codes.dims()) return std::nullopt;
  GridMatrix& matrix = weight.matrix;
  matrix.rows = codes.dim(weight.turned ? 1 : 0);
  matrix.columns = codes.dim(weight.turned ? 0 : 1);
  if (matrix.columns > kMaxColumns) return std::nullopt;
  const std::vector<double> values = exact->ReadDoubles();
  matrix.values.assign(values.begin(), values.end());
  if (weight.turned) {
    matrix.values = Turned(matrix.values, matrix.rows, matrix.columns);
    matrix.scales = Turned(matrix.scales, matrix.rows, matrix.columns);
    matrix.zero_points = Turned(matrix.zero_points, matrix.rows, matrix.columns);
    weight.codes = Turned(weight.codes, matrix.rows, matrix.columns);
  }
  return weight;
}

absl::Status Write(const WeightCodes& weight, const std::vector<int64_t>& codes) {
  const HostTensor& before = *LiteralOf(weight.dequantize->operand(0));
  const GridMatrix& matrix = weight.matrix;
  HostTensor after(before.dtype(), before.dims());
  after.WriteInts(weight.turned ? Turned(codes, matrix.columns, matrix.rows) : codes);
  Builder b(weight.dequantize->graph(), weight.dequantize);
  weight.dequantize->set_operand(0, b.Constant(after));
  return b.status();
}

// Chooses codes for one weight; returns its line.
absl::StatusOr<std::string> Round(const WeightCodes& weight, absl::Span<const double> moments) {
  const GridMatrix& matrix = weight.matrix;
  const std::string name = DescribeNode(*weight.product);
  GridMatrix nothing = matrix;
  std::fill(nothing.scales.begin(), nothing.scales.end(), 0.0f);
  const double signal = ProductError(nothing, weight.codes, moments);
  const double error = ProductError(matrix, weight.codes, moments);
  const auto codes = CompensatedCodes(matrix, moments);
  if (!codes.ok()) return absl::StrFormat("%s: codes stay: %s", name, codes.status().message());
  const double better = ProductError(matrix, *codes, moments);
  if (!(better < error)) return absl::StrFormat("%s: codes stay, error %.3g", name, error / signal);
  WEFT_RETURN_IF_ERROR(Write(weight, *codes));
  return absl::StrFormat("%s: new codes, error %.3g -> %.3g", name, error / signal,
                         better / signal);
}

// The second moments of the inputs of some products, over all batches.
absl::StatusOr<std::vector<std::vector<double>>> MomentsOf(
    const Module& before, absl::Span<Node* const> nodes, absl::Span<const CalibrationBatch> batches,
    const Backend& backend) {
  NodeValues::Options options;
  options.kind = NodeValues::Kind::kInputMoments;
  WEFT_ASSIGN_OR_RETURN(NodeValues values, NodeValues::Create(before, nodes, backend, options));
  std::vector<std::vector<double>> sums(nodes.size());
  for (const CalibrationBatch& batch : batches) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> tensors, values.Run(batch));
    for (size_t i = 0; i < sums.size(); ++i) {
      const std::vector<double> more = tensors[i].ReadDoubles();
      sums[i].resize(more.size());
      for (size_t k = 0; k < more.size(); ++k) sums[i][k] += more[k];
    }
  }
  return sums;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RoundWeights(const Module& before, Module& after,
                                                      absl::Span<const QuantizedProduct> products,
                                                      absl::Span<const CalibrationBatch> batches,
                                                      const Backend& backend) {
  std::vector<std::string> lines;
  if (batches.empty()) return lines;
  for (size_t next = 0; next < products.size();) {
    std::vector<WeightCodes> weights;
    std::vector<Node*> nodes;
    int64_t elements = 0;
    for (; next < products.size() && elements < kMaxMoments; ++next) {
      std::optional<WeightCodes> weight = WeightOf(products[next]);
      if (!weight) continue;
      elements += weight->matrix.columns * weight->matrix.columns;
      nodes.push_back(products[next].before);
      weights.push_back(*std::move(weight));
    }
    if (nodes.empty()) continue;
    WEFT_ASSIGN_OR_RETURN(const auto moments, MomentsOf(before, nodes, batches, backend));
    for (size_t i = 0; i < weights.size(); ++i) {
      WEFT_ASSIGN_OR_RETURN(lines.emplace_back(), Round(weights[i], moments[i]));
    }
  }
  return lines;
}

}  // namespace weft
