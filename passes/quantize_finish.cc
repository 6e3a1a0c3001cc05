// One sweep a graph, in topological order, so that a chain of views is passed in one run.
#include "passes/quantize_finish.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

// The parameters that a quantize_linear and a dequantize_linear share.
struct Params {
  const Value* scale = nullptr;
  const Value* zero_point = nullptr;
  int64_t axis = 0;
  int64_t block_size = 0;
  std::vector<int64_t> block_shape;

  bool one_scale() const {
    return scale->type().numel().Is(1) && block_size == 0 && block_shape.empty();
  }
};

template <typename View>
Params ParamsOf(const Node& node, int rank) {
  const View view(node);
  Params params{view.scale(), view.zero_point(), view.axis(), view.block_size(),
                view.block_shape()};
  if (params.axis < 0) params.axis += rank;
  return params;
}

bool SameTensor(const Value* a, const Value* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const HostTensor* left = LiteralOf(a);
  const HostTensor* right = LiteralOf(b);
  return left != nullptr && right != nullptr && left->BitEqual(*right);
}

bool AreEqual(const Params& a, const Params& b) {
  if (!SameTensor(a.scale, b.scale) || !SameTensor(a.zero_point, b.zero_point)) return false;
  if (a.one_scale() && b.one_scale()) return true;
  return a.axis == b.axis && a.block_size == b.block_size && a.block_shape == b.block_shape;
}

// A scale with which 17 bits and a sign come back from a product and a quotient in f32.
bool IsSafeScale(const Value* scale) {
  const HostTensor* literal = LiteralOf(scale);
  if (literal == nullptr || literal->dtype() != DType::kF32) return false;
  constexpr double kMost = std::numeric_limits<float>::max() / (1 << 18);
  for (double s : literal->ReadDoubles()) {
    if (!(s >= std::numeric_limits<float>::min() && s <= kMost)) return false;
  }
  return true;
}

bool IsNarrowInt(DType dtype) { return IsInt(dtype) && DTypeBits(dtype) <= 16; }

// Whether result 0 has the elements of the operands, or the largest of some of them, whatever
// their order-preserving code.
bool KeepsElements(const Node& node) {
  return node.Is(ops::cat) || node.Is(ops::flip) || node.Is(ops::max_pool) ||
         node.Is(ops::permute) || node.Is(ops::reshape) || node.Is(ops::select) ||
         node.Is(ops::slice);
}

class Finisher {
 public:
  Finisher(Graph& graph, PassContext& context) : context_(context), rewriter_(&graph) {}

  absl::Status Visit(Node* node) {
    if (!node->has_uses()) return absl::OkStatus();
    if (node->Is(ops::quantize_linear)) {
      WEFT_ASSIGN_OR_RETURN(bool done, Fold(node));
      if (!done) {
        WEFT_ASSIGN_OR_RETURN(done, Cancel(node));
      }
      return done ? absl::OkStatus() : Merge(node);
    }
    if (node->Is(ops::clamp) && IsNarrowInt(node->result()->type().dtype())) {
      return Fold(node).status();
    }
    return KeepsElements(*node) ? Sink(node) : absl::OkStatus();
  }

 private:
  absl::StatusOr<bool> Replace(Node* node, const std::vector<Value*>& values, const char* counter) {
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot(values));
    context_.Count(counter);
    return true;
  }

  bool Start(Node* node, const char* rule) {
    if (!context_.StartRewrite({NumericContract::kBitExact, rule, ""})) return false;
    rewriter_.Begin(node, rule, context_.num_rewrites());
    return true;
  }

  absl::StatusOr<bool> Fold(Node* node) {
    std::vector<HostTensor> inputs;
    for (int i = 0; i < node->num_operands(); ++i) {
      const HostTensor* literal = node->has_operand(i) ? LiteralOf(node->operand(i)) : nullptr;
      if (literal == nullptr && node->has_operand(i)) return false;
      inputs.push_back(literal == nullptr ? HostTensor() : *literal);
    }
    auto results = Evaluate(node->op(), node->attr_list(), inputs);
    if (!results.ok() || !Start(node, "fold-weight")) return false;
    ConstantStore& constants = rewriter_.module().constants();
    const int first_new = constants.size();
    Value* value = rewriter_.Constant((*results)[0]);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return Replace(node, {value}, "folded");
  }

  absl::StatusOr<bool> Cancel(Node* node) {
    const ops::QuantizeLinearView q(*node);
    if (!q.self()->IsResultOf(ops::dequantize_linear) || !IsNarrowInt(q.dtype())) return false;
    const Node& inner = *q.self()->node();
    Value* integers = ops::DequantizeLinearView(inner).self();
    const DType wide = q.self()->type().dtype();
    const int rank = q.self()->type().rank();
    const bool exact = integers->type().dtype() == q.dtype() && IsSafeScale(q.scale()) &&
                       (wide == DType::kF32 || wide == DType::kF64);
    if (!exact || !AreEqual(ParamsOf<ops::QuantizeLinearView>(*node, rank),
                            ParamsOf<ops::DequantizeLinearView>(inner, rank))) {
      return false;
    }
    if (!Start(node, "cancel-pair")) return false;
    return Replace(node, {integers}, "cancelled");
  }

  // Values and attributes with the contents of the parameters.
  using Key = std::tuple<const Value*, const AttrList*, uint64_t, uint64_t>;

  absl::Status Merge(Node* node) {
    const ops::QuantizeLinearView q(*node);
    const HostTensor* scale = LiteralOf(q.scale());
    const HostTensor* zero = q.zero_point() == nullptr ? nullptr : LiteralOf(q.zero_point());
    if (scale == nullptr || (zero == nullptr && q.zero_point() != nullptr)) return absl::OkStatus();
    const Key key(q.self(), node->attr_list(), scale->Fingerprint(),
                  zero == nullptr ? 0 : zero->Fingerprint());
    const auto [it, added] = quantized_.try_emplace(key, node->result());
    if (added || !Start(node, "merge-equal")) return absl::OkStatus();
    return Replace(node, {it->second}, "merged").status();
  }

  // The dequantize_linear that an operand comes from, where it has one safe scale; else null.
  static const Node* Source(const Node& node, int operand) {
    if (!node.has_operand(operand)) return nullptr;
    const Value* value = node.operand(operand);
    if (!value->IsResultOf(ops::dequantize_linear)) return nullptr;
    const Node* source = value->node();
    const Params params = ParamsOf<ops::DequantizeLinearView>(*source, value->type().rank());
    const DType dtype = ops::DequantizeLinearView(*source).self()->type().dtype();
    return params.one_scale() && IsNarrowInt(dtype) && IsSafeScale(params.scale) ? source : nullptr;
  }

  absl::Status Sink(Node* node) {
    const Node* first = Source(*node, 0);
    if (first == nullptr) return absl::OkStatus();
    const ops::DequantizeLinearView dequantize(*first);
    const int rank = first->result()->type().rank();
    std::vector<Value*> operands;
    for (int i = 0; i < node->num_operands(); ++i) {
      const bool data = i == 0 || node->Is(ops::cat);
      const Node* source = data ? Source(*node, i) : nullptr;
      const bool equal = source != nullptr && source->attr_list() == first->attr_list() &&
                         source->operand(0)->type().dtype() == first->operand(0)->type().dtype() &&
                         AreEqual(ParamsOf<ops::DequantizeLinearView>(*first, rank),
                                  ParamsOf<ops::DequantizeLinearView>(*source, rank));
      if (data && !equal) return absl::OkStatus();
      operands.push_back(data ? source->operand(0) : node->operand(i));
    }
    if (!Start(node, "sink-dequantize")) return absl::OkStatus();
    std::vector<Value*> made = rewriter_.Create(node->op(), operands, node->attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    Value* const wanted[] = {made[0], dequantize.scale(), dequantize.zero_point()};
    made[0] = rewriter_.CreateOne(ops::dequantize_linear, wanted, first->attr_list());
    return Replace(node, made, "sunk").status();
  }

  PassContext& context_;
  Rewriter rewriter_;
  absl::flat_hash_map<Key, Value*> quantized_;
};

class QuantizeFinishPass : public Pass {
 public:
  absl::string_view name() const override { return "quantize_finish"; }
  absl::string_view doc() const override {
    return "Makes quantized weights narrow constants and drops needless pairs.";
  }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      Finisher finisher(*graph, context);
      for (Node* node : graph->nodes()) WEFT_RETURN_IF_ERROR(finisher.Visit(node));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateQuantizeFinishPass() { return std::make_unique<QuantizeFinishPass>(); }

}  // namespace weft
