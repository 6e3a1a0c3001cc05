#include "passes/fuse_nbits/decision.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/fuse_nbits/pack.h"

namespace weft {
namespace {

bool IsSwap(const Node& node) {
  if (!node.Is(ops::permute)) return false;
  const std::vector<int64_t> dims = ops::PermuteView(node).dims();
  return dims.size() == 2 && dims[0] % 2 != 0;
}

bool IsProductFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Integers of 4 or 8 bits, and f4e2m1, whose values are halves of such integers.
bool HasNumbers(DType dtype) {
  const int bits = DTypeBits(dtype);
  return dtype == DType::kF4E2M1 || (IsInt(dtype) && (bits == 4 || bits == 8));
}

// Scales that are halved for f4e2m1 must not lose bits.
bool IsScale(DType dtype, DType numbers) {
  if (dtype == DType::kF32 || dtype == DType::kF8E8M0) return true;
  return IsProductFloat(dtype) && IsInt(numbers);
}

// Elements that share a scale along each dim of the matrix; -1 for all of them.
std::vector<int64_t> SharesOf(const ops::DequantizeLinearView& view) {
  const int64_t axis = view.axis() < 0 ? view.axis() + 2 : view.axis();
  if (!view.block_shape().empty()) return view.block_shape();
  std::vector<int64_t> shares = {1, 1};
  if (view.block_size() != 0) {
    shares[axis] = view.block_size();
  } else if (view.scale()->type().numel().Is(1)) {
    shares = {-1, -1};
  } else {
    shares[1 - axis] = -1;
  }
  return shares;
}

// The numbers of a dequantize_linear whose operands are constants; else null.
const HostTensor* NumbersOf(const Node* node) {
  if (node == nullptr || !node->Is(ops::dequantize_linear)) return nullptr;
  const ops::DequantizeLinearView view(*node);
  const HostTensor* q = LiteralOf(view.self());
  if (q == nullptr || LiteralOf(view.scale()) == nullptr) return nullptr;
  if (view.zero_point() != nullptr && LiteralOf(view.zero_point()) == nullptr) return nullptr;
  return q->numel() == 0 || !HasNumbers(q->dtype()) ? nullptr : q;
}

// reshape(dequantize_linear(q[columns, groups, group], scale[columns, groups, 1]) + offset[columns,
// groups, 1], [columns, groups * group]), with a convert or none before the reshape.
bool SetOffsetWeights(const Node* node, NbitsWeights& w) {
  if (node == nullptr || !node->Is(ops::reshape)) return false;
  const Type matrix = node->result(0)->type();
  node = node->operand(0)->node();
  if (node != nullptr && node->Is(ops::convert)) node = node->operand(0)->node();
  if (node == nullptr || !node->Is(ops::add)) return false;
  w.dequantize = node->operand(0)->node();
  w.offset = node->operand(1);
  const HostTensor* q = NumbersOf(w.dequantize);
  if (q == nullptr || LiteralOf(w.offset) == nullptr || q->rank() != 3 || !w.rows) return false;
  const std::vector<int64_t> heads = {q->dim(0), q->dim(1), 1};
  const Type scale = ops::DequantizeLinearView(*w.dequantize).scale()->type();
  if (scale.static_dims() != heads || w.offset->type() != scale) return false;
  w.columns = q->dim(0);
  w.depth = q->dim(1) * q->dim(2);
  w.group = q->dim(2);
  return matrix.static_dims() == std::vector<int64_t>{w.columns, w.depth};
}

std::optional<NbitsWeights> WeightsOf(const Node& product) {
  if (!product.Is(ops::matmul) && !product.Is(ops::linear)) return std::nullopt;
  NbitsWeights w;
  w.rows = product.Is(ops::linear);
  Node* node = product.operand(1)->node();
  if (node != nullptr && IsSwap(*node)) {
    node = node->operand(0)->node();
    w.rows = !w.rows;
  }
  if (SetOffsetWeights(node, w)) return w;
  const HostTensor* q = NumbersOf(node);
  if (q == nullptr || q->rank() != 2) return std::nullopt;
  w.dequantize = node;
  w.offset = nullptr;
  const ops::DequantizeLinearView view(*node);
  w.columns = q->dim(w.rows ? 0 : 1);
  w.depth = q->dim(w.rows ? 1 : 0);
  const std::vector<int64_t> shares = SharesOf(view);
  const auto share = [](int64_t count, int64_t size) {
    return count == -1 ? size : std::min(count, size);
  };
  w.shared_columns = share(shares[w.rows ? 0 : 1], w.columns);
  w.group = share(shares[w.rows ? 1 : 0], w.depth);
  return w;
}

bool Keeps(const Target& target, const OpDef& op) {
  return std::find(target.composites.begin(), target.composites.end(), op.name()) !=
         target.composites.end();
}

// Why the candidate stays; "": it does not.
std::string ReasonToStay(const NbitsCandidate& candidate, int64_t min_group) {
  const ops::DequantizeLinearView view(*candidate.weights.dequantize);
  if (!IsProductFloat(candidate.node->operand(1)->type().dtype()) ||
      !IsScale(view.scale()->type().dtype(), view.self()->type().dtype())) {
    return "its weights or scales are neither f32, f16 nor bf16";
  }
  const bool is_signed = !IsUnsignedInt(view.self()->type().dtype());
  if (is_signed && view.zero_point() != nullptr && IsFloat(view.zero_point()->type().dtype())) {
    return "its zero points are floats, its numbers have signs";
  }
  const bool has_offset = candidate.weights.offset != nullptr;
  if (has_offset && (is_signed || view.zero_point() != nullptr || view.dtype() != DType::kF32)) {
    return "offsets are for f32 of unsigned numbers without zero points";
  }
  if (candidate.weights.group < min_group) {
    return absl::StrCat("a scale is for ", candidate.weights.group,
                        " weights of a sum, fewer than ", min_group);
  }
  return "";
}

}  // namespace

std::vector<NbitsCandidate> CollectNbits(const Graph& graph) {
  std::vector<NbitsCandidate> candidates;
  for (Node* node : graph.nodes()) {
    const auto weights = WeightsOf(*node);
    if (weights) candidates.push_back({node, *weights});
  }
  return candidates;
}

NbitsDecision DecideNbits(const std::vector<NbitsCandidate>& candidates, const Target& target,
                          int64_t min_group) {
  NbitsDecision decision;
  if (!Keeps(target, ops::matmul_nbits)) return decision;
  for (const NbitsCandidate& candidate : candidates) {
    std::string reason = ReasonToStay(candidate, min_group);
    if (!reason.empty()) {
      decision.refusals.push_back({candidate.node, std::move(reason)});
      continue;
    }
    NbitsProduct product;
    product.node = candidate.node;
    product.weights = candidate.weights;
    product.group_size = candidate.weights.group;
    const bool whole = product.group_size >= candidate.weights.depth;
    // Two weights of 4 bits are a byte; behind the last weight of a row is room for another one.
    if (whole) product.group_size += product.group_size % 2;
    product.bits = product.group_size % 2 == 0 && FitsFourBits(candidate.weights) ? 4 : 8;
    decision.products.push_back(product);
  }
  return decision;
}

std::string ToString(const NbitsDecision& decision) {
  std::string text;
  for (const NbitsProduct& p : decision.products) {
    absl::StrAppend(&text, NodeText(*p.node), ": ", p.bits, " bits in groups of ", p.group_size,
                    "\n");
  }
  for (const NodeRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

}  // namespace weft
