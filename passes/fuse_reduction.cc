// Nodes are met in order. A reduction begins a group, or joins that of its
// operand; a pointwise node joins the groups of its operands; and whoever joins
// brings the pointwise nodes that it reads.
#include "passes/fuse_reduction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/ops/ops.h"
#include "passes/fuse/group.h"
#include "passes/fuse/logs.h"
#include "passes/fuse/nodes.h"

namespace weft {
namespace {

struct Part {
  int space = -1;       // In the list of spaces; -1: holds no reduction.
  bool closed = false;  // Nothing can follow.
};

class ReductionFuser {
 public:
  explicit ReductionFuser(FusePlanner& planner)
      : planner_(planner), parts_(planner.graph().num_nodes()) {}

  void Run() {
    for (Node* node : planner_.graph().nodes()) {
      if (IsReduction(*node)) {
        Begin(node);
      } else if (IsPointwise(*node)) {
        Follow(node);
      } else if (node->Is(ops::nll_loss)) {
        Close(node);
      }
    }
    for (int unit : planner_.units().InOrder()) {
      if (parts_[unit].space >= 0 && planner_.units().size(unit) > 1) {
        planner_.AddGroup(unit, "reduction");
      }
    }
  }

 private:
  Part& part(const Node* node) { return parts_[planner_.units().Of(node)]; }
  bool Together(const Node* a, const Node* b) const {
    return planner_.units().Of(a) == planner_.units().Of(b);
  }

  bool SameSpaces(int a, int b) const {
    const ReductionSpace& x = spaces_[a];
    const ReductionSpace& y = spaces_[b];
    if (x.alone || y.alone || x.axes != y.axes) return false;
    return SameDims(x.dims, y.dims, planner_.symbols());
  }

  // The node's sizes are those of the space or of its rows.
  bool Fits(const Node& node, int space) const {
    const ReductionSpace& s = spaces_[space];
    const auto dims = node.result()->type().dims();
    if (SameDims(dims, s.dims, planner_.symbols())) return true;
    if (s.alone) return false;
    std::vector<SymInt> kept = s.dims, dropped;
    for (int axis : s.axes) kept[axis] = 1;
    for (size_t i = 0; i < s.dims.size(); ++i) {
      const int axis = static_cast<int>(i);
      if (!std::binary_search(s.axes.begin(), s.axes.end(), axis)) {
        dropped.push_back(s.dims[i]);
      }
    }
    return SameDims(dims, kept, planner_.symbols()) || SameDims(dims, dropped, planner_.symbols());
  }

  // `node` joins the group of `maker`; both parts may have a space.
  bool Join(const Node* node, const Node* maker) {
    Part merged = part(maker);
    const Part mine = part(node);
    if (!planner_.Merge(*node, *maker)) return false;
    if (merged.space < 0) merged = mine;
    part(node) = merged;
    return true;
  }

  void Begin(const Node* node) {
    part(node).space = static_cast<int>(spaces_.size());
    spaces_.push_back(SpaceOf(*node));
    const Node* maker = node->operand(0)->node();
    if (maker == nullptr) return;
    const Part theirs = part(maker);
    if (theirs.space >= 0 && !theirs.closed) {
      if (SameSpaces(part(node).space, theirs.space)) {
        Join(node, maker);
      } else {
        planner_.Refuse(*node, *maker, "they go over different dims");
      }
    }
    TakeProducers(node);
  }

  void Follow(const Node* node) {
    bool joined = false;
    for (int i = 0; i < node->num_operands(); ++i) {
      if (!node->has_operand(i)) continue;
      const Node* maker = node->operand(i)->node();
      if (maker == nullptr || Together(maker, node)) continue;
      const Node* view = ViewOf(maker, node);
      if (view != nullptr) maker = view->operand(0)->node();
      joined |= FollowOne(node, maker, view);
    }
    if (joined) TakeProducers(node);
  }

  // A view that nobody else uses, of what a group makes; or null.
  const Node* ViewOf(const Node* maker, const Node* node) {
    Units& units = planner_.units();
    if (!IsView(*maker) || units.size(units.Of(maker)) != 1) return nullptr;
    const Node* viewed = maker->operand(0)->node();
    if (viewed == nullptr || part(viewed).space < 0) return nullptr;
    for (const Use* use = maker->result()->first_use(); use != nullptr; use = use->next()) {
      if (use->user() == node) continue;
      if (use->user() == planner_.graph().return_node()) return nullptr;
      if (!Together(use->user(), viewed)) return nullptr;
    }
    return maker;
  }

  bool FollowOne(const Node* node, const Node* maker, const Node* view) {
    const Part theirs = part(maker);
    if (theirs.space < 0 || theirs.closed || Together(maker, node)) {
      return false;
    }
    if (!Fits(*node, theirs.space)) {
      planner_.Refuse(*node, *maker, "its sizes are not those of the group");
      return false;
    }
    const int mine = part(node).space;
    if (mine >= 0 && !SameSpaces(mine, theirs.space)) {
      planner_.Refuse(*node, *maker, "it is in a group over other dims");
      return false;
    }
    if (view != nullptr && !Join(view, maker)) return false;
    return Join(node, maker);
  }

  // The pointwise nodes that lead to `node`, as far as they fit.
  void TakeProducers(const Node* node) {
    std::vector<const Node*> list = {node};
    while (!list.empty()) {
      const Node* taker = list.back();
      list.pop_back();
      for (int i = 0; i < taker->num_operands(); ++i) {
        if (!taker->has_operand(i)) continue;
        const Node* maker = taker->operand(i)->node();
        if (maker == nullptr || Together(maker, taker)) continue;
        if (!IsPointwise(*maker) || part(maker).space >= 0) continue;
        if (!Fits(*maker, part(taker).space)) continue;
        if (Join(taker, maker)) list.push_back(maker);
      }
    }
  }

  // A loss of the logarithms of probabilities that a group makes.
  void Close(const Node* node) {
    const Node* maker = node->operand(0)->node();
    if (maker == nullptr || part(maker).space < 0 || part(maker).closed) return;
    if (!maker->Is(ops::log_softmax) || node->operand(0)->type().rank() != 2) {
      return;
    }
    if (Join(node, maker)) part(node).closed = true;
  }

  FusePlanner& planner_;
  std::vector<Part> parts_;  // By unit.
  std::vector<ReductionSpace> spaces_;
};

class FuseReductionPass : public Pass {
 public:
  explicit FuseReductionPass(const FuseReductionOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_reduction"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Puts reductions and the pointwise ops around them into fused "
           "nodes.";
  }
  void VisitOptions(OptionVisitor& visitor) override { options_.limits.Visit(visitor); }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      const FusionDecision decision = DecideFuseReduction(*graph, context.target(), options_);
      WEFT_RETURN_IF_ERROR(ApplyFusion(*graph, decision, context));
    }
    return absl::OkStatus();
  }

 private:
  FuseReductionOptions options_;
};

}  // namespace

FusionDecision DecideFuseReduction(const Graph& graph, const Target& target,
                                   const FuseReductionOptions& options) {
  FusePlanner planner(graph, target, options.limits);
  ReductionFuser(planner).Run();
  return planner.Take();
}

std::unique_ptr<Pass> CreateFuseReductionPass(const FuseReductionOptions& options) {
  return std::make_unique<FuseReductionPass>(options);
}

std::unique_ptr<Pass> CreateFuseReductionPass() { return CreateFuseReductionPass({}); }

}  // namespace weft
