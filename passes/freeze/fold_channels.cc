// f(x) * scale + shift, where f is a linear or convolution, is f with weights scaled by channel,
// and with bias * scale + shift as its bias.
#include "passes/freeze/fold_channels.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

// y = x * scale[c] + shift[c].
struct Channels {
  std::vector<double> scale;
  std::vector<double> shift;
};

// A convolution or linear whose weight and bias are constants.
struct Product {
  Node* node = nullptr;
  int64_t channels = 0;
  int channel_dim = 0;  // Dim of the result.
  int weight_dim = 0;   // Dim of the weight that has the result's channels.
};

std::optional<Product> ProductOf(Value* value) {
  Node* node = value->node();
  if (node == nullptr || !value->has_one_use()) return std::nullopt;
  Product p;
  p.node = node;
  if (node->Is(ops::linear)) {
    p.channel_dim = value->type().rank() - 1;
  } else if (node->Is(ops::convolution)) {
    p.channel_dim = 1;
    const ops::ConvolutionView conv(*node);
    if (conv.transposed()) {
      if (!conv.groups().Is(1)) return std::nullopt;
      p.weight_dim = 1;
    }
  } else {
    return std::nullopt;
  }
  const ops::BiasedProductView product(*node);
  const HostTensor* weight = LiteralOf(product.weight());
  if (weight == nullptr || !IsFloat(weight->dtype())) return std::nullopt;
  if (product.bias() != nullptr && LiteralOf(product.bias()) == nullptr) return std::nullopt;
  p.channels = weight->dim(p.weight_dim);
  return p;
}

// The constant's value for each channel; nullopt for other shapes.
std::optional<std::vector<double>> PerChannel(const Value* value, const Product& p, int rank) {
  const HostTensor* t = LiteralOf(value);
  if (t == nullptr || t->rank() > rank || !IsFloat(t->dtype())) {
    return std::nullopt;
  }
  for (int i = 0; i < t->rank(); ++i) {
    const bool channel = i + rank - t->rank() == p.channel_dim;
    if (t->dim(i) != 1 && !(channel && t->dim(i) == p.channels)) {
      return std::nullopt;
    }
  }
  std::vector<double> values = t->ReadDoubles();
  if (values.size() == 1) values.assign(p.channels, values[0]);
  if (static_cast<int64_t>(values.size()) != p.channels) return std::nullopt;
  return values;
}

std::optional<Channels> OfBatchNorm(const Node& node, const Product& p) {
  if (p.channel_dim != 1) return std::nullopt;
  const ops::BatchNormView norm(node);
  const Value* operands[] = {norm.weight(), norm.bias(), norm.running_mean(), norm.running_var()};
  std::vector<double> parts[4];
  for (int i = 0; i < 4; ++i) {
    const HostTensor* t = LiteralOf(operands[i]);
    if (t == nullptr || t->numel() != p.channels) return std::nullopt;
    parts[i] = t->ReadDoubles();
  }
  const double eps = norm.eps();
  Channels channels;
  for (int64_t c = 0; c < p.channels; ++c) {
    const double scale = parts[0][c] / std::sqrt(parts[3][c] + eps);
    channels.scale.push_back(scale);
    channels.shift.push_back(parts[1][c] - parts[2][c] * scale);
  }
  return channels;
}

// `i` is the operand that the linear or convolution computes.
std::optional<Channels> OfArithmetic(const Node& node, int i, const Product& p) {
  const bool first = i == 0;
  const auto by = PerChannel(node.operand(1 - i), p, node.result()->type().rank());
  if (!by.has_value()) return std::nullopt;
  Channels channels;
  for (double v : *by) {
    double scale = 1, shift = 0;
    if (node.Is(ops::mul)) {
      scale = v;
    } else if (node.Is(ops::div) && first) {
      scale = 1 / v;
    } else if (node.Is(ops::add)) {
      shift = v;
    } else if (node.Is(ops::sub)) {
      scale = first ? 1 : -1;
      shift = first ? -v : v;
    } else {
      return std::nullopt;
    }
    channels.scale.push_back(scale);
    channels.shift.push_back(shift);
  }
  return channels;
}

bool AreFinite(const Channels& channels) {
  for (double v : channels.scale) {
    if (!std::isfinite(v)) return false;
  }
  for (double v : channels.shift) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

// Scales `inner` elements of each channel in turn; each element is rounded once.
HostTensor ScaledF32(const HostTensor& weight, int64_t inner, const std::vector<double>& scale) {
  HostTensor scaled(DType::kF32, weight.dims());
  const float* from = weight.data<float>();
  float* to = scaled.data<float>();
  const int64_t runs = inner == 0 ? 0 : weight.numel() / inner;
  for (int64_t r = 0; r < runs; ++r, from += inner, to += inner) {
    const double by = scale[r % static_cast<int64_t>(scale.size())];
    for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<float>(from[i] * by);
  }
  return scaled;
}

HostTensor ScaledWeight(const Product& p, const Channels& channels) {
  const HostTensor& weight = *LiteralOf(ops::BiasedProductView(*p.node).weight());
  int64_t inner = 1;
  for (int i = p.weight_dim + 1; i < weight.rank(); ++i) inner *= weight.dim(i);
  if (weight.dtype() == DType::kF32) return ScaledF32(weight.Contiguous(), inner, channels.scale);
  std::vector<double> values = weight.ReadDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= channels.scale[i / inner % p.channels];
  }
  return HostTensor::FromDoubles(weight.dtype(), weight.dims(), values);
}

HostTensor ShiftedBias(const Product& p, const Channels& channels) {
  std::vector<double> values(p.channels, 0.0);
  DType dtype = p.node->result()->type().dtype();
  const Value* bias = ops::BiasedProductView(*p.node).bias();
  if (bias != nullptr) values = LiteralOf(bias)->ReadDoubles();
  for (int64_t c = 0; c < p.channels; ++c) {
    values[c] = values[c] * channels.scale[c] + channels.shift[c];
  }
  return HostTensor::FromDoubles(dtype, {p.channels}, values);
}

class ChannelFolder {
 public:
  ChannelFolder(Graph& graph, PassContext& context) : context_(context), rewriter_(&graph) {}

  absl::Status Visit(Node* node) {
    const bool norm = node->Is(ops::batch_norm);
    if (!norm && !node->Is(ops::mul) && !node->Is(ops::div) && !node->Is(ops::add) &&
        !node->Is(ops::sub)) {
      return absl::OkStatus();
    }
    if (node->Is(ops::div) && ops::DivView(*node).rounding_mode().has_value()) {
      return absl::OkStatus();
    }
    for (int i = 0; i < (norm ? 1 : 2); ++i) {
      const auto product = ProductOf(node->operand(i));
      if (!product.has_value()) continue;
      // The sizes must be those of the linear or convolution, so that channels do not move.
      const Value* made = product->node->result();
      if (made->type().rank() != node->result()->type().rank()) continue;
      const auto channels = norm ? OfBatchNorm(*node, *product) : OfArithmetic(*node, i, *product);
      if (!channels.has_value() || !AreFinite(*channels)) continue;
      return Fold(node, *product, *channels);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Fold(Node* node, const Product& product, const Channels& channels) {
    if (!context_.StartRewrite(
            {NumericContract::kReassociating, "fold-channels", node->op().name()})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(node, "fold-channels", context_.num_rewrites());
    // A shift alone does not change the weight.
    const bool scales = std::any_of(channels.scale.begin(), channels.scale.end(),
                                    [](double scale) { return scale != 1; });
    const ops::BiasedProductView view(*product.node);
    Value* weight = scales ? Constant(ScaledWeight(product, channels)) : view.weight();
    Value* operands[] = {view.input(), weight, Constant(ShiftedBias(product, channels))};
    std::vector<Value*> made =
        rewriter_.Create(product.node->op(), operands, product.node->attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot(made));
    context_.Count("channels");
    return absl::OkStatus();
  }

  Value* Constant(const HostTensor& tensor) {
    ConstantStore& constants = rewriter_.module().constants();
    const int first_new = constants.size();
    Value* value = rewriter_.Constant(tensor);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return value;
  }

  PassContext& context_;
  Rewriter rewriter_;
};

}  // namespace

absl::Status FoldChannels(Graph& graph, PassContext& context) {
  ChannelFolder folder(graph, context);
  for (Node* node : graph.nodes()) {
    WEFT_RETURN_IF_ERROR(folder.Visit(node));
  }
  return absl::OkStatus();
}

}  // namespace weft
