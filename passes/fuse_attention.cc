#include "passes/fuse_attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/fuse/group.h"
#include "passes/fuse/logs.h"
#include "passes/fuse_attention/decision.h"
#include "passes/fuse_attention/match.h"

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Values by the results of roots whose places they took. A plan made before may still name them.
using Replaced = absl::flat_hash_map<const Value*, Value*>;

// Builds the attention that a plan describes before its root.
class AttentionBuilder {
 public:
  AttentionBuilder(Rewriter& rewriter, const AttentionPlan& plan, const Replaced& replaced)
      : rewriter_(rewriter), plan_(plan), replaced_(replaced) {}

  // The value in the place of the root's; null when the rewriter's status says why.
  Value* Build() {
    Value* query = Made(plan_.query);
    Value* key = Made(plan_.key);
    Value* value = Made(plan_.value);
    if (!rewriter_.status().ok()) return nullptr;
    dtype_ = query->type().dtype();
    for (const AttentionMaskPlan& mask : plan_.masks) {
      AddMask(mask);
      if (!rewriter_.status().ok()) return nullptr;
    }
    Value* y =
        ops::BuildScaledDotProductAttention(rewriter_, query, key, value, mask_, plan_.is_causal,
                                            plan_.scale, plan_.softcap, plan_.enable_gqa);
    if (y != nullptr && seen_ != nullptr) {
      y = ops::BuildWhere(rewriter_, seen_, y, rewriter_.Scalar(dtype_, std::nan("")));
    }
    const auto size = plan_.root->result()->type().dims();
    if (y == nullptr || y->type().dims() == size) return y;
    return ops::BuildReshape(rewriter_, y, size);
  }

 private:
  Value* BaseOf(const ViewedValue& v) const {
    const auto it = replaced_.find(v.base);
    return it == replaced_.end() ? v.base : it->second;
  }

  Value* Viewed(Value* value, const ViewedValue& v) {
    for (const ViewedValue::View& view : v.views) {
      if (value == nullptr) break;
      value = rewriter_.CreateOne(*view.op, {value}, view.attrs);
    }
    return value;
  }
  Value* Made(const ViewedValue& v) { return Viewed(BaseOf(v), v); }

  void AddMask(const AttentionMaskPlan& plan) {
    Value* mask = BaseOf(plan.value);
    switch (plan.kind) {
      case AttentionMaskPlan::Kind::kChoose:
        if (plan.restores_rows) {
          Value* shown = Made(plan.value);
          if (shown != nullptr) seen_ = ops::BuildAny(rewriter_, shown, {-1}, /*keepdim=*/true);
        }
        break;
      case AttentionMaskPlan::Kind::kAddHidden:
        mask = Additive(mask, plan.number);
        break;
      case AttentionMaskPlan::Kind::kAdd:
        if (mask->type().dtype() != dtype_) mask = ops::BuildConvert(rewriter_, mask, dtype_);
        if (plan.number != 1 && mask != nullptr) {
          mask = ops::BuildMul(rewriter_, mask, rewriter_.Scalar(dtype_, plan.number));
        }
        break;
    }
    mask = Viewed(mask, plan.value);
    if (mask != nullptr) Combine(mask);
  }

  Value* Additive(Value* mask, double hidden) {
    Value* shown = rewriter_.Scalar(dtype_, 0);
    return ops::BuildWhere(rewriter_, mask, shown, rewriter_.Scalar(dtype_, hidden));
  }

  void Combine(Value* mask) {
    if (mask_ == nullptr) {
      mask_ = mask;
      return;
    }
    const bool a = mask_->type().dtype() == DType::kBool;
    const bool b = mask->type().dtype() == DType::kBool;
    if (a && b) {
      mask_ = ops::BuildLogicalAnd(rewriter_, mask_, mask);
      return;
    }
    if (a) mask_ = Additive(mask_, -kInf);
    if (b) mask = Additive(mask, -kInf);
    if (mask_ != nullptr && mask != nullptr) mask_ = ops::BuildAdd(rewriter_, mask_, mask);
  }

  Rewriter& rewriter_;
  const AttentionPlan& plan_;
  const Replaced& replaced_;
  DType dtype_ = DType::kF32;
  Value* mask_ = nullptr;
  Value* seen_ = nullptr;
};

absl::Status ApplyAttention(Graph* graph, const AttentionDecision& decision, PassContext& context) {
  AddRemarks(decision.refusals, context);
  Rewriter rewriter(graph);
  Replaced replaced;
  for (const AttentionPlan& plan : decision.plans) {
    if (!context.StartRewrite({NumericContract::kReassociating, "attention", ""})) continue;
    rewriter.Begin(plan.root, "attention", context.num_rewrites());
    Value* value = AttentionBuilder(rewriter, plan, replaced).Build();
    if (value == nullptr || !rewriter.status().ok()) {
      const NodeRefusal refusal = {plan.root, std::string(rewriter.status().message())};
      AddRemarks(absl::MakeConstSpan(&refusal, 1), context);
      rewriter.Abandon();
      continue;
    }
    const Value* old = plan.root->result();
    WEFT_RETURN_IF_ERROR(rewriter.ReplaceRoot({&value, 1}));
    replaced[old] = value;
    context.Count("attention");
    if (plan.is_causal) context.Count("causal");
    if (plan.enable_gqa) context.Count("gqa");
    if (plan.masked) context.Count("masked");
  }
  return absl::OkStatus();
}

class FuseAttentionPass : public Pass {
 public:
  explicit FuseAttentionPass(const FuseAttentionOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_attention"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Replaces attention in single ops by "
           "scaled_dot_product_attention.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("hidden_rows", &options_.hidden_rows, "rows of masks that hide all keys give 0");
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      for (const Node* node : graph->nodes()) {
        if (node->Is(ops::scaled_dot_product_attention)) context.Count("present");
      }
      const AttentionDecision decision =
          DecideAttention(CollectAttention(*graph), module.symbols(), options_);
      WEFT_RETURN_IF_ERROR(ApplyAttention(graph, decision, context));
    }
    return absl::OkStatus();
  }

 private:
  FuseAttentionOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFuseAttentionPass(const FuseAttentionOptions& options) {
  return std::make_unique<FuseAttentionPass>(options);
}

std::unique_ptr<Pass> CreateFuseAttentionPass() { return CreateFuseAttentionPass({}); }

}  // namespace weft
