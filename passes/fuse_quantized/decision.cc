#include "passes/fuse_quantized/decision.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The largest product of two integers of 8 bits.
constexpr int64_t kMaxProduct = 255 * 255;
// Nodes that compute the weights of one product.
constexpr size_t kMaxWeightNodes = 16;

std::optional<IntegerProduct> ProductOf(Node* node) {
  IntegerProduct p;
  p.node = node;
  if (!node->Is(ops::matmul) && !node->Is(ops::linear) && !node->Is(ops::convolution)) {
    return std::nullopt;
  }
  const Type weight = node->operand(1)->type();
  const int rank = node->result()->type().rank();
  SymInt length = 1;
  if (node->Is(ops::convolution)) {
    if (ops::ConvolutionView(*node).transposed()) return std::nullopt;
    p.channel_dim = 1;
    for (int d = 1; d < weight.rank(); ++d) length = length * weight.dim(d);
  } else if (node->Is(ops::linear)) {
    p.channel_dim = rank - 1;
    length = weight.dim(1);
  } else {
    if (weight.rank() < 2 || node->operand(0)->type().rank() < 2) return std::nullopt;
    p.channel_dim = rank - 1;
    p.weight_axis = weight.rank() - 1;
    length = weight.dim(weight.rank() - 2);
  }
  p.length = length.is_constant() ? length.value() : 0;
  return p;
}

// The value is dequantized to f32, with a scale of f32 for all of it or for each channel.
bool IsDequantizedByChannel(const Value* value) {
  if (!value->IsResultOf(ops::dequantize_linear)) return false;
  const ops::DequantizeLinearView dequantize(*value->node());
  if (dequantize.block_size() != 0 || !dequantize.block_shape().empty()) return false;
  return value->type().dtype() == DType::kF32 && dequantize.scale()->type().dtype() == DType::kF32;
}

// The value is integers of at most 8 bits, dequantized to f32.
bool IsDequantized(const Value* value) {
  if (!IsDequantizedByChannel(value)) return false;
  const ops::DequantizeLinearView dequantize(*value->node());
  const DType dtype = dequantize.self()->type().dtype();
  const Value* zero_point = dequantize.zero_point();
  if (zero_point != nullptr && zero_point->type().dtype() != dtype) return false;
  return IsInt(dtype) && DTypeBits(dtype) <= 8;
}

// The value is floats of 8 bits that matmul_float8 takes, dequantized to f32 without zero points.
bool IsDequantizedFloat8(const Value* value) {
  if (!IsDequantizedByChannel(value)) return false;
  const ops::DequantizeLinearView dequantize(*value->node());
  if (dequantize.zero_point() != nullptr) {
    const HostTensor* zero = LiteralOf(dequantize.zero_point());
    if (zero == nullptr) return false;
    const std::vector<double> values = zero->ReadDoubles();
    if (!std::all_of(values.begin(), values.end(), [](double v) { return v == 0; })) return false;
  }
  const DType dtype = dequantize.self()->type().dtype();
  return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

// The axis of the scales, counted from the front; -1 when there is one scale.
int64_t ScaleAxis(const ops::DequantizeLinearView& dequantize) {
  if (IsOne(dequantize.scale()->type())) return -1;
  const int64_t axis = dequantize.axis();
  return axis < 0 ? axis + dequantize.self()->type().rank() : axis;
}

// Slices of `slice` elements less their zero points, over and over. False if one does not fit.
template <typename T>
bool CenterSlices(const T* from, int64_t n, int64_t slice, const std::vector<int64_t>& zeros,
                  int8_t* to) {
  int32_t least = 0;
  int32_t most = 0;
  for (int64_t begin = 0, k = 0; begin < n; begin += slice, ++k) {
    const auto zero = static_cast<int32_t>(zeros[k % static_cast<int64_t>(zeros.size())]);
    for (int64_t i = begin; i < begin + slice; ++i) {
      const int32_t centered = static_cast<int32_t>(from[i]) - zero;
      least = std::min(least, centered);
      most = std::max(most, centered);
      to[i] = static_cast<int8_t>(centered);
    }
  }
  return least >= -128 && most <= 127;
}

// The elements less their zero points, one or one for each slice along `axis`; invalid unless all
// fit in i8.
HostTensor CenteredBytes(const HostTensor& weights, const HostTensor* zero_point, int64_t axis) {
  int64_t slice = 1;
  for (int64_t d = axis + 1; d < weights.rank(); ++d) slice *= weights.dim(static_cast<int>(d));
  std::vector<int64_t> zeros = {0};
  if (zero_point != nullptr) zeros = zero_point->ReadInts();
  const bool moved = std::any_of(zeros.begin(), zeros.end(), [](int64_t z) { return z != 0; });
  if (weights.dtype() == DType::kI8 && !moved) return weights;
  HostTensor bytes(DType::kI8, weights.dims());
  const int64_t n = weights.numel();
  if (zeros.size() == 1) slice = n;
  bool fits = false;
  if (weights.dtype() == DType::kI8) {
    fits = CenterSlices(weights.Contiguous().data<int8_t>(), n, slice, zeros, bytes.data<int8_t>());
  } else if (weights.dtype() == DType::kU8) {
    fits =
        CenterSlices(weights.Contiguous().data<uint8_t>(), n, slice, zeros, bytes.data<int8_t>());
  } else {
    const std::vector<int64_t> wide = weights.ReadInts();
    fits = CenterSlices(wide.data(), n, slice, zeros, bytes.data<int8_t>());
  }
  return fits ? bytes : HostTensor();
}

// A convolution of one group, or of as many as there are channels.
bool HasPlainGroups(const Node& convolution) {
  const SymInt groups = ops::ConvolutionView(convolution).groups();
  return groups.Is(1) || (groups == convolution.operand(0)->type().dim(1) &&
                          groups == convolution.operand(1)->type().dim(0));
}

// The second operand as the narrow ops take it: a constant, the same for all rows. Invalid where
// there is none, and for other groups than those of a depthwise convolution, whose weights must fit
// in i8 without a zero point.
ByteWeights ConstantBytes(const IntegerProduct& p) {
  const ops::DequantizeLinearView x(*p.node->operand(0)->node());
  const ops::DequantizeLinearView w(*p.node->operand(1)->node());
  const HostTensor* weights = LiteralOf(w.self());
  const HostTensor* zero = w.zero_point() == nullptr ? nullptr : LiteralOf(w.zero_point());
  if (DTypeBits(x.self()->type().dtype()) != 8 || weights == nullptr) return {};
  if (w.zero_point() != nullptr && zero == nullptr) return {};
  const bool convolution = p.node->Is(ops::convolution);
  if (convolution ? !HasPlainGroups(*p.node) : weights->rank() != 2) return {};
  HostTensor centered = CenteredBytes(*weights, zero, p.weight_axis);
  if (centered.valid()) return {centered, HostTensor()};
  const bool one_group = !convolution || ops::ConvolutionView(*p.node).groups().Is(1);
  if (!one_group || DTypeBits(weights->dtype()) != 8) return {};
  return {*weights, zero == nullptr ? HostTensor() : *zero};
}

bool IsMatmulOfBytes(const IntegerProduct& p) {
  if (!p.node->Is(ops::matmul)) return false;
  const ops::DequantizeLinearView x(*p.node->operand(0)->node());
  const ops::DequantizeLinearView w(*p.node->operand(1)->node());
  return DTypeBits(x.self()->type().dtype()) == 8 && DTypeBits(w.self()->type().dtype()) == 8 &&
         (w.zero_point() == nullptr || IsOne(w.zero_point()->type()));
}

bool Keeps(const Target& target, const OpDef& op) {
  return std::find(target.composites.begin(), target.composites.end(), op.name()) !=
         target.composites.end();
}

// Costs little on constants, and its sizes are constant too.
bool IsCheapOnConstants(const Node& node) {
  if (!node.Is(ops::convert) && !node.Is(ops::sub) && !node.Is(ops::reshape) &&
      !node.Is(ops::permute)) {
    return false;
  }
  const auto dims = node.result()->type().dims();
  return std::all_of(dims.begin(), dims.end(), [](SymInt d) { return d.is_constant(); });
}

// Walks from a value to the constants that it is computed from.
class ConstantWalk {
 public:
  // False: it is computed from something else too, or by too many nodes.
  bool Run(const Value* value) {
    std::vector<const Value*> open = {value};
    while (!open.empty()) {
      const Value* at = open.back();
      open.pop_back();
      if (const HostTensor* literal = LiteralOf(at)) {
        bytes = std::max<int64_t>(bytes, literal->numel() * 4);
        continue;
      }
      Node* node = at->node();
      if (node == nullptr || !IsCheapOnConstants(*node)) return false;
      if (!seen_.insert(node).second) continue;
      nodes.push_back(node);
      if (nodes.size() > kMaxWeightNodes) return false;
      for (int i = 0; i < node->num_operands(); ++i) {
        if (!node->has_operand(i)) return false;
        open.push_back(node->operand(i));
      }
    }
    return true;
  }

  std::vector<Node*> nodes;
  int64_t bytes = 0;

 private:
  absl::flat_hash_set<const Node*> seen_;
};

// Sorts the nodes so that operands come first. They are few.
void SortByUse(std::vector<Node*>* nodes) {
  std::vector<Node*> sorted;
  const auto is_open = [&](const Value* v) {
    const auto left = std::find(nodes->begin(), nodes->end(), v->node());
    return left != nodes->end() && std::find(sorted.begin(), sorted.end(), *left) == sorted.end();
  };
  const auto is_ready = [&](Node* node) {
    if (std::find(sorted.begin(), sorted.end(), node) != sorted.end()) return false;
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->operand(i)->node() != nullptr && is_open(node->operand(i))) return false;
    }
    return true;
  };
  while (sorted.size() < nodes->size()) {
    sorted.push_back(*std::find_if(nodes->begin(), nodes->end(), is_ready));
  }
  *nodes = std::move(sorted);
}

}  // namespace

bool IsOne(Type type) { return type.rank() == 0 || (type.rank() == 1 && type.dim(0).Is(1)); }

std::vector<QuantizedCandidate> CollectQuantized(const Graph& graph) {
  std::vector<QuantizedCandidate> candidates;
  for (Node* node : graph.nodes()) {
    const auto product = ProductOf(node);
    if (!product) continue;
    const bool float8 =
        IsDequantizedFloat8(node->operand(0)) && IsDequantizedFloat8(node->operand(1));
    if (!float8 && (!IsDequantized(node->operand(0)) || !IsDequantized(node->operand(1)))) continue;
    QuantizedCandidate candidate;
    candidate.product = *product;
    candidate.product.float8 = float8;
    const ops::DequantizeLinearView left(*node->operand(0)->node());
    candidate.one_scale = ScaleAxis(left) < 0;
    candidate.scale_axis = ScaleAxis(ops::DequantizeLinearView(*node->operand(1)->node()));
    if (!float8) {
      candidate.weights = ConstantBytes(*product);
      candidate.of_bytes = IsMatmulOfBytes(*product);
    }
    candidates.push_back(candidate);
  }
  return candidates;
}

QuantizedDecision DecideQuantized(const std::vector<QuantizedCandidate>& candidates,
                                  const Target& target) {
  QuantizedDecision decision;
  for (const QuantizedCandidate& candidate : candidates) {
    const IntegerProduct& p = candidate.product;
    // Other targets multiply such floats in f32.
    if (p.float8 && (p.node->Is(ops::convolution) || !Keeps(target, ops::matmul_float8))) continue;
    const char* reason = nullptr;
    if (!candidate.one_scale) {
      reason = "its first operand has several scales";
    } else if (candidate.scale_axis >= 0 && candidate.scale_axis != p.weight_axis) {
      reason = "the scales of its second operand are not those of the result's channels";
    } else if (!p.float8 &&
               (p.length == 0 || p.length > std::numeric_limits<int32_t>::max() / kMaxProduct)) {
      reason = "its sums could pass 32 bits";
    }
    if (reason == nullptr) {
      const OpDef& narrow =
          p.node->Is(ops::convolution) ? ops::convolution_integer : ops::matmul_integer;
      decision.products.push_back(p);
      if (!p.float8 && Keeps(target, narrow)) {
        decision.products.back().weights = candidate.weights;
        decision.products.back().as_it_is = !candidate.weights.bytes.valid() && candidate.of_bytes;
      }
    } else {
      decision.refusals.push_back({p.node, reason});
    }
  }
  return decision;
}

std::vector<WideCandidate> CollectWide(const Graph& graph) {
  std::vector<WideCandidate> candidates;
  for (Node* node : graph.nodes()) {
    const auto product = ProductOf(node);
    if (!product || node->result()->type().dtype() != DType::kI32) continue;
    WideCandidate candidate;
    candidate.product = *product;
    candidate.has_bias = !node->Is(ops::matmul) && ops::BiasedProductView(*node).bias() != nullptr;
    ConstantWalk walk;
    if (LiteralOf(node->operand(1)) == nullptr && walk.Run(node->operand(1))) {
      candidate.weight_nodes = std::move(walk.nodes);
      candidate.weight_bytes = walk.bytes;
      SortByUse(&candidate.weight_nodes);
    }
    if (candidate.has_bias || !candidate.weight_nodes.empty()) {
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

WideDecision DecideWide(std::vector<WideCandidate> candidates, int64_t max_bytes) {
  WideDecision decision;
  for (WideCandidate& candidate : candidates) {
    WideProduct made;
    made.product = candidate.product;
    made.moves_bias = candidate.has_bias;
    if (candidate.weight_bytes <= max_bytes) {
      made.weight_nodes = std::move(candidate.weight_nodes);
    } else {
      decision.refusals.push_back(
          {candidate.product.node, absl::StrCat("its weights take more than ", max_bytes,
                                                " bytes as integers of 32 bits")});
    }
    if (made.moves_bias || !made.weight_nodes.empty()) {
      decision.products.push_back(std::move(made));
    }
  }
  return decision;
}

std::string ToString(const QuantizedDecision& decision) {
  std::string text;
  for (const IntegerProduct& p : decision.products) {
    absl::StrAppend(&text, NodeText(*p.node), ": a product of ",
                    p.float8 ? "8-bit floats" : "integers",
                    p.weights.bytes.valid() || p.as_it_is ? " of 8 bits" : "", "\n");
  }
  for (const NodeRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

std::string ToString(const WideDecision& decision) {
  std::string text;
  for (const WideProduct& p : decision.products) {
    absl::StrAppend(&text, NodeText(*p.product.node), ":", p.moves_bias ? " moves its bias" : "",
                    p.moves_bias && !p.weight_nodes.empty() ? "," : "",
                    p.weight_nodes.empty() ? "" : " folds its weights", "\n");
  }
  for (const NodeRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

}  // namespace weft
