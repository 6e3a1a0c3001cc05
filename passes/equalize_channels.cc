#include "passes/equalize_channels.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr int kWeight = 1, kBias = 2;
// A chain of n pairs settles in about n times; what the last sweep leaves is right, if uneven.
constexpr int kMaxSweeps = 64;
// Factors stay far from the ends of f32.
constexpr int kMaxExponent = 40;

// The weight of a product, as a matrix of `rows` by `columns` by `inner`: a row has an output
// channel, a column an input channel of the row's group.
struct Layer {
  Node* node = nullptr;
  int64_t rows = 0, columns = 0, inner = 1, groups = 1;
  std::vector<double> weight;
  std::vector<double> bias;  // Empty without one.
  bool changed = false;

  int64_t inputs() const { return columns * groups; }
};

// Two layers, the result of the first being what the second reads.
struct Pair {
  size_t first = 0, second = 0;
};

const HostTensor* FloatLiteral(const Node& node, int i) {
  const HostTensor* literal = node.has_operand(i) ? LiteralOf(node.operand(i)) : nullptr;
  return literal != nullptr && literal->dtype() == DType::kF32 ? literal : nullptr;
}

int64_t GroupsOf(const Node& product) {
  if (product.Is(ops::linear)) return 1;
  const ops::ConvolutionView view(product);
  if (view.transposed() || !view.groups().is_constant()) return 0;
  return view.groups().value();
}

// No rows where the node is no product that can be scaled.
Layer LayerOf(Node& node) {
  Layer layer;
  if (!node.Is(ops::linear) && !node.Is(ops::convolution)) return layer;
  layer.node = &node;
  layer.groups = GroupsOf(node);
  const HostTensor* weight = FloatLiteral(node, kWeight);
  const HostTensor* bias = FloatLiteral(node, kBias);
  if (layer.groups <= 0 || weight == nullptr || weight->rank() < 2 || weight->numel() == 0)
    return layer;
  if (node.has_operand(kBias) && (bias == nullptr || bias->rank() != 1)) return layer;
  if (weight->dims()[0] % layer.groups != 0) return layer;
  layer.rows = weight->dims()[0];
  layer.columns = weight->dims()[1];
  layer.inner = weight->numel() / (layer.rows * layer.columns);
  layer.weight = weight->ReadDoubles();
  if (bias != nullptr) layer.bias = bias->ReadDoubles();
  return layer;
}

// The dim of the channels behind an op through which factors of channels pass; -1: they do not.
int ChannelBehind(const Node& node, int channel) {
  if (node.Is(ops::relu) || node.Is(ops::leaky_relu) || node.Is(ops::max_pool)) return channel;
  if (!node.Is(ops::mean)) return -1;
  const ops::MeanView view(node);
  const int rank = node.operand(0)->type().rank();
  if (view.keepdim() || channel != 1 || static_cast<int>(view.dim().size()) != rank - 2) return -1;
  for (const int64_t dim : view.dim()) {
    if ((dim < 0 ? dim + rank : dim) < 2) return -1;
  }
  return 1;
}

// The product that alone reads what `product` gives; null without one. Outputs are read by the
// graph's return.
const Node* ReaderOf(const Node& product) {
  const Value* value = product.result();
  int channel = product.Is(ops::convolution) ? 1 : value->type().rank() - 1;
  while (value->has_one_use()) {
    const Node* user = value->first_use()->user();
    if (value->first_use()->operand_index() != 0) return nullptr;
    const int rank = value->type().rank();
    if (user->Is(ops::convolution)) return channel == 1 && rank > 2 ? user : nullptr;
    if (user->Is(ops::linear)) return channel == rank - 1 ? user : nullptr;
    channel = ChannelBehind(*user, channel);
    if (channel < 0) return nullptr;
    value = user->result();
  }
  return nullptr;
}

// The layers of a graph and its pairs, both in the order of the graph.
struct Candidates {
  std::vector<Layer> layers;
  std::vector<Pair> pairs;
};

Candidates Collect(const Graph& graph) {
  Candidates found;
  absl::flat_hash_map<const Node*, size_t> at;
  for (Node* node : graph.nodes()) {
    Layer layer = LayerOf(*node);
    if (layer.rows == 0) continue;
    at[node] = found.layers.size();
    found.layers.push_back(std::move(layer));
  }
  for (size_t i = 0; i < found.layers.size(); ++i) {
    const auto second = at.find(ReaderOf(*found.layers[i].node));
    if (second == at.end()) continue;
    if (found.layers[second->second].inputs() != found.layers[i].rows) continue;
    found.pairs.push_back({i, second->second});
  }
  return found;
}

// Calls back with each element of the second layer's weight that input channel `channel` meets.
template <typename Callback>
void ForInputChannel(Layer& layer, int64_t channel, Callback callback) {
  const int64_t group = channel / layer.columns, column = channel % layer.columns;
  const int64_t rows = layer.rows / layer.groups;
  for (int64_t row = group * rows; row < (group + 1) * rows; ++row) {
    double* from = &layer.weight[(row * layer.columns + column) * layer.inner];
    std::for_each(from, from + layer.inner, callback);
  }
}

template <typename Callback>
void ForOutputChannel(Layer& layer, int64_t channel, Callback callback) {
  const int64_t size = layer.columns * layer.inner;
  double* from = &layer.weight[channel * size];
  std::for_each(from, from + size, callback);
}

// The exponent of the channel's factor; 0 where the ranges are within a factor of two, empty or not
// finite.
int ExponentOf(double first, double second) {
  const double ratio = std::log2(first) - std::log2(second);
  if (!std::isfinite(ratio)) return 0;
  // Halves go to 0: nothing would be gained.
  const double steps = std::ceil(std::abs(ratio) / 2 - 0.5);
  return static_cast<int>(std::copysign(std::min<double>(steps, kMaxExponent), ratio));
}

// Evens out the channels of a pair; how many changed.
int64_t Equalize(Layer& first, Layer& second) {
  int64_t changed = 0;
  for (int64_t c = 0; c < first.rows; ++c) {
    double from = 0, to = 0;
    ForOutputChannel(first, c, [&](double& w) { from = std::max(from, std::abs(w)); });
    ForInputChannel(second, c, [&](double& w) { to = std::max(to, std::abs(w)); });
    const int exponent = ExponentOf(from, to);
    if (exponent == 0) continue;
    ForOutputChannel(first, c, [&](double& w) { w = std::ldexp(w, -exponent); });
    ForInputChannel(second, c, [&](double& w) { w = std::ldexp(w, exponent); });
    if (!first.bias.empty()) first.bias[c] = std::ldexp(first.bias[c], -exponent);
    first.changed = second.changed = true;
    ++changed;
  }
  return changed;
}

// Goes through the pairs until nothing changes; how many changes of channels that took.
int64_t Settle(Candidates& found) {
  int64_t changes = 0;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    int64_t channels = 0;
    for (const Pair& pair : found.pairs) {
      channels += Equalize(found.layers[pair.first], found.layers[pair.second]);
    }
    if (channels == 0) break;
    changes += channels;
  }
  return changes;
}

absl::Status Write(Graph& graph, const Layer& layer) {
  Builder b(&graph, layer.node);
  const auto write = [&](int operand, const std::vector<double>& values) {
    const HostTensor& before = *LiteralOf(layer.node->operand(operand));
    HostTensor after(DType::kF32, before.dims());
    after.WriteDoubles(values);
    layer.node->set_operand(operand, b.Constant(after));
  };
  write(kWeight, layer.weight);
  if (!layer.bias.empty()) write(kBias, layer.bias);
  return b.status();
}

class EqualizeChannelsPass : public Pass {
 public:
  absl::string_view name() const override { return "equalize_channels"; }
  absl::string_view doc() const override {
    return "Scales weights so that the channels between two products are equally large.";
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      WEFT_RETURN_IF_ERROR(RunOn(*graph, context));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunOn(Graph& graph, PassContext& context) {
    Candidates found = Collect(graph);
    if (Settle(found) == 0) return absl::OkStatus();
    // All or nothing: a factor and its inverse belong together.
    if (!context.StartRewrite({NumericContract::kReassociating, "", ""})) return absl::OkStatus();
    for (const Layer& layer : found.layers) {
      if (!layer.changed) continue;
      WEFT_RETURN_IF_ERROR(Write(graph, layer));
      context.Count("layers");
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateEqualizeChannelsPass() {
  return std::make_unique<EqualizeChannelsPass>();
}

}  // namespace weft
