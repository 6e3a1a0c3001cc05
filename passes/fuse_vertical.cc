// Nodes are met in order; each pointwise node takes in the groups of its
// operands where that is allowed. An operand that others use as well is tried a
// second time, after those that may have brought its other users.
#include "passes/fuse_vertical.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/cost/cost.h"
#include "graph/ops/ops.h"
#include "passes/fuse/group.h"
#include "passes/fuse/logs.h"
#include "passes/fuse/nodes.h"

namespace weft {
namespace {

// What is known of a unit that holds pointwise nodes.
struct Part {
  const Node* tip = nullptr;  // Null: no such unit.
  int computed = 0;
  int views = 0;
  bool cheap = true;
};

// A value that a node reads, directly or through views of its own.
struct Read {
  const Value* value;
  bool through_view;
  bool grows;  // Through an expand.
};

class VerticalFuser {
 public:
  VerticalFuser(FusePlanner& planner, int64_t recompute)
      : planner_(planner), recompute_(recompute), parts_(planner.graph().num_nodes()) {}

  void Run() {
    for (Node* node : planner_.graph().nodes()) {
      if (!IsPointwise(*node)) continue;
      part(node) = {node, 1, 0, IsCheap(*node)};
      TakeProducers(node);
    }
    for (int unit : planner_.units().InOrder()) {
      const Part& p = parts_[unit];
      if (p.computed > 1 || (p.computed == 1 && p.views > 0)) {
        planner_.AddGroup(unit, "pointwise");
      }
    }
  }

 private:
  Part& part(const Node* node) { return parts_[planner_.units().Of(node)]; }
  bool Together(const Node* a, const Node* b) const {
    return planner_.units().Of(a) == planner_.units().Of(b);
  }

  void TakeProducers(const Node* node) {
    std::vector<Read> reads, later;
    for (int i = 0; i < node->num_operands(); ++i) {
      reads.push_back({node->operand(i), false, false});
    }
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < reads.size(); ++i) {
        const Read read = reads[i];
        if (read.value == nullptr || read.value->is_input()) continue;
        const Node* maker = read.value->node();
        if (Together(maker, node)) continue;
        if (TakeView(node, maker, read, &reads)) continue;
        if (part(maker).tip == nullptr) continue;
        if (!TakePart(node, maker, read, round == 1)) later.push_back(read);
      }
      reads = std::move(later);
      later.clear();
    }
  }

  bool TakeView(const Node* node, const Node* view, const Read& read, std::vector<Read>* reads) {
    Units& units = planner_.units();
    const int unit = units.Of(view);
    if (!IsView(*view) || units.size(unit) != 1) return false;
    if (!planner_.IsUsedOnlyBy(unit, units.Of(node))) return true;
    Part merged = part(node);
    if (!planner_.Merge(*node, *view)) return true;
    ++merged.views;
    part(node) = merged;
    reads->push_back({view->operand(0), true, read.grows || view->Is(ops::expand)});
    return true;
  }

  // False: it may be possible later.
  bool TakePart(const Node* node, const Node* maker, const Read& read, bool last) {
    Units& units = planner_.units();
    const Part producer = part(maker);
    Part merged = part(node);
    const bool same =
        !read.through_view && SameSpace(*maker, *node) && SameSpace(*producer.tip, *node);
    const bool only = planner_.IsUsedOnlyBy(units.Of(maker), units.Of(node));
    if (!same && !only) {
      if (last) planner_.Refuse(*node, *maker, "others use it, in other sizes");
      return false;
    }
    const bool grows = read.grows || (!read.through_view && !same);
    if ((grows || Reads(units.Of(maker), node, *producer.tip) > 1) &&
        !(producer.cheap && producer.computed <= recompute_)) {
      planner_.Refuse(*node, *maker, "it would be computed more than once");
      return true;
    }
    if (!planner_.Merge(*node, *maker)) return true;
    merged.computed += producer.computed;
    merged.views += producer.views;
    merged.cheap &= producer.cheap;
    merged.tip = node;
    part(node) = merged;
    return true;
  }

  // At how many places of the group's space an element of the producer's is
  // needed; all that read it where it is count as one.
  int Reads(int producer, const Node* node, const Node& tip) {
    Units& units = planner_.units();
    const int consumer = units.Of(node);
    int elsewhere = 0;
    bool in_place = false;
    units.ForEachNode(producer, [&](Node* made) {
      const Use* use = made->result()->first_use();
      for (; use != nullptr && elsewhere < 2; use = use->next()) {
        const Node* user = use->user();
        if (user == planner_.graph().return_node()) continue;
        if (units.Of(user) != consumer) continue;
        if (IsPointwise(*user) && SameSpace(*user, tip)) {
          in_place = true;
        } else {
          ++elsewhere;
        }
      }
    });
    return elsewhere + in_place;
  }

  FusePlanner& planner_;
  const int64_t recompute_;
  std::vector<Part> parts_;  // By unit.
};

class FuseVerticalPass : public Pass {
 public:
  explicit FuseVerticalPass(const FuseVerticalOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_vertical"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Puts chains and DAGs of pointwise ops into fused nodes.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    options_.limits.Visit(visitor);
    visitor.Visit("recompute", &options_.recompute,
                  "cheap ops of a producer that may be computed repeatedly");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      const FusionDecision decision = DecideFuseVertical(*graph, context.target(), options_);
      WEFT_RETURN_IF_ERROR(ApplyFusion(*graph, decision, context));
    }
    return absl::OkStatus();
  }

 private:
  FuseVerticalOptions options_;
};

}  // namespace

FusionDecision DecideFuseVertical(const Graph& graph, const Target& target,
                                  const FuseVerticalOptions& options) {
  FusePlanner planner(graph, target, options.limits);
  VerticalFuser(planner, options.recompute).Run();
  return planner.Take();
}

std::unique_ptr<Pass> CreateFuseVerticalPass(const FuseVerticalOptions& options) {
  return std::make_unique<FuseVerticalPass>(options);
}

std::unique_ptr<Pass> CreateFuseVerticalPass() { return CreateFuseVerticalPass({}); }

}  // namespace weft
