#include "api/quantize/integer_biases.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr int kInput = 0, kWeight = 1, kBias = 2;

// The axis of the weight that has the result's channels; -1 where there is none.
int ChannelAxis(const Node& product) {
  if (product.Is(ops::linear)) return 0;
  const ops::ConvolutionView view(product);
  if (!view.transposed()) return 0;
  return view.groups().Is(1) ? 1 : -1;
}

// The scales of an operand that is a dequantized integer: one, or one for each of `channels` along
// `axis`. Empty where it is anything else.
std::vector<double> ScalesOf(const Value* operand, int64_t channels, int axis) {
  if (!operand->IsResultOf(ops::dequantize_linear)) return {};
  const ops::DequantizeLinearView view(*operand->node());
  const Type from = view.self()->type();
  if (!IsInt(from.dtype()) || DTypeBits(from.dtype()) > 8) return {};
  if (view.dtype() != DType::kF32 || view.block_size() != 0 || !view.block_shape().empty()) {
    return {};
  }
  const HostTensor* scale = LiteralOf(view.scale());
  if (scale == nullptr || scale->dtype() != DType::kF32) return {};
  if (scale->numel() == 1) return scale->ReadDoubles();
  const int64_t along = view.axis() < 0 ? view.axis() + from.rank() : view.axis();
  const bool by_channel = axis >= 0 && along == axis && scale->rank() == 1;
  return by_channel && scale->numel() == channels ? scale->ReadDoubles() : std::vector<double>();
}

struct IntegerBias {
  HostTensor values;
  HostTensor scales;
};

// The bias on the grid of the products; nothing where it does not fit.
std::optional<IntegerBias> Quantized(const std::vector<double>& bias, const std::vector<double>& x,
                                     const std::vector<double>& w) {
  std::vector<int64_t> values;
  std::vector<double> scales;
  for (size_t c = 0; c < bias.size(); ++c) {
    // Rounded as the scale that is written.
    const float scale = static_cast<float>(x[0]) * static_cast<float>(w[w.size() == 1 ? 0 : c]);
    const double quotient = std::nearbyint(bias[c] / scale);
    // Also where the scale is 0 or the bias is not a number.
    if (!(std::abs(quotient) <= std::numeric_limits<int32_t>::max())) return std::nullopt;
    values.push_back(static_cast<int64_t>(quotient));
    scales.push_back(scale);
  }
  if (w.size() == 1) scales.resize(1);
  const int64_t channels = static_cast<int64_t>(values.size());
  IntegerBias made{HostTensor(DType::kI32, {channels}), w.size() == 1
                                                            ? HostTensor(DType::kF32, {})
                                                            : HostTensor(DType::kF32, {channels})};
  made.values.WriteInts(values);
  made.scales.WriteDoubles(scales);
  return made;
}

// The product's bias as an integer; nothing where it stays as it is.
std::optional<IntegerBias> BiasOf(const Node& product) {
  const bool linear = product.Is(ops::linear) && product.result()->type().rank() == 2;
  if (!linear && !product.Is(ops::convolution)) return std::nullopt;
  const HostTensor* bias = product.has_operand(kBias) ? LiteralOf(product.operand(kBias)) : nullptr;
  if (bias == nullptr || bias->dtype() != DType::kF32 || bias->rank() != 1) return std::nullopt;
  if (bias->numel() == 0) return std::nullopt;
  const std::vector<double> x = ScalesOf(product.operand(kInput), 0, -1);
  const std::vector<double> w =
      ScalesOf(product.operand(kWeight), bias->numel(), ChannelAxis(product));
  if (x.size() != 1 || w.empty()) return std::nullopt;
  return Quantized(bias->ReadDoubles(), x, w);
}

}  // namespace

absl::StatusOr<int64_t> MakeBiasesInteger(Module& module) {
  int64_t count = 0;
  for (Graph* graph : module.AllGraphs()) {
    for (Node* node = graph->first_node(); node != nullptr; node = node->next()) {
      const std::optional<IntegerBias> bias = BiasOf(*node);
      if (!bias) continue;
      Builder b(graph, node);
      b.set_provenance(node->provenance());
      Value* values = b.Constant(bias->values);
      Value* scales = b.Constant(bias->scales);
      Value* real = ops::BuildDequantizeLinear(b, values, scales, nullptr, DType::kF32, /*axis=*/0);
      WEFT_RETURN_IF_ERROR(b.status());
      node->set_operand(kBias, real);
      ++count;
    }
  }
  return count;
}

}  // namespace weft
