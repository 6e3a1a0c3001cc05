// From each product forward: while one value leaves the group, its users join,
// up to the next place where one value leaves.
#include "passes/fuse_epilogue.h"

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

// Nodes between a value and the place where all that is computed from it has
// come together.
constexpr size_t kMaxBetween = 16;

class EpilogueFuser {
 public:
  explicit EpilogueFuser(FusePlanner& planner) : planner_(planner) {}

  void Run() {
    for (Node* node : planner_.graph().nodes()) {
      const bool convolution = node->Is(ops::convolution) || node->Is(ops::convolution_integer);
      const bool gemm = node->Is(ops::matmul) || node->Is(ops::linear) ||
                        node->Is(ops::matmul_integer) || node->Is(ops::matmul_nbits);
      if (!convolution && !gemm) continue;
      if (planner_.units().size(planner_.units().Of(node)) != 1) continue;
      Grow(node);
      const int unit = planner_.units().Of(node);
      if (planner_.units().size(unit) > 1) {
        planner_.AddGroup(unit, convolution ? "convolution" : "gemm");
      }
    }
  }

 private:
  void Grow(const Node* root) {
    std::vector<const Node*> step = NextStep(root, root->result());
    while (!step.empty()) {
      std::vector<const Node*> next = NextStep(root, step.back()->result());
      if (next.empty() && LeavesBytes(step)) {
        planner_.Refuse(*step.back(), *root, "its users read the integers");
        return;
      }
      for (const Node* node : step) {
        if (!planner_.Merge(*node, *root)) return;
        TakeQuantized(*node, *root);
      }
      step = std::move(next);
    }
  }

  // The last step only makes floats of integers, for a user that can do so itself: integers are
  // narrower.
  static bool LeavesBytes(const std::vector<const Node*>& step) {
    const Node& last = *step.back();
    if (step.size() != 1 || !last.Is(ops::dequantize_linear) ||
        !last.operand(0)->IsResultOf(ops::quantize_linear) || !last.result()->has_one_use()) {
      return false;
    }
    const Node& user = *last.result()->first_use()->user();
    return IsPointwise(user) || IsReduction(user);
  }

  // The other operand is read as integers, which are narrower, if nothing else reads it as floats.
  void TakeQuantized(const Node& node, const Node& root) {
    const bool narrow = root.Is(ops::convolution_integer) || root.Is(ops::matmul_integer);
    for (int i = 0; narrow && i < node.num_operands(); ++i) {
      const Value* v = node.operand(i);
      if (v == nullptr || !v->IsResultOf(ops::dequantize_linear) || !v->has_one_use()) continue;
      const Node& producer = *v->node();
      if (!IsPointwise(producer) || !SameSpace(producer, root)) continue;
      if (planner_.units().size(planner_.units().Of(&producer)) != 1) continue;
      planner_.Merge(node, producer);
    }
  }

  bool CanJoin(const Node* root, const Node* node) {
    if (node == planner_.graph().return_node()) {
      planner_.Refuse(*root, *root, "its value is an output");
      return false;
    }
    const char* reason = nullptr;
    if (!IsPointwise(*node)) {
      reason = "it is not pointwise";
    } else if (!SameSpace(*node, *root)) {
      reason = "its sizes differ";
    } else if (planner_.units().size(planner_.units().Of(node)) != 1) {
      reason = "it is in another group";
    }
    if (reason != nullptr) planner_.Refuse(*node, *root, reason);
    return reason == nullptr;
  }

  // The users of `live`, and theirs, until what they make is used through one
  // value alone; that value's node comes last. Empty: there is no such place.
  std::vector<const Node*> NextStep(const Node* root, const Value* live) {
    std::vector<const Node*> taken, open;
    const auto add_users = [&](const Value* value) {
      for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
        if (std::find(open.begin(), open.end(), use->user()) == open.end()) {
          open.push_back(use->user());
        }
        if (open.size() > kMaxBetween) return;
      }
    };
    add_users(live);
    while (!open.empty() && taken.size() + open.size() <= kMaxBetween) {
      // The first in the graph's order: what is left may depend on it.
      auto first = std::min_element(open.begin(), open.end(), [this](const Node* a, const Node* b) {
        return Place(a) < Place(b);
      });
      const Node* node = *first;
      open.erase(first);
      if (!CanJoin(root, node)) return {};
      taken.push_back(node);
      if (open.empty()) return taken;
      add_users(node->result());
    }
    if (!open.empty()) {
      planner_.Refuse(*root, *root, "what uses its value does not meet again");
    }
    return {};
  }

  int Place(const Node* node) const {
    return node == planner_.graph().return_node() ? -1 : planner_.units().PositionOf(node);
  }

  FusePlanner& planner_;
};

class FuseEpiloguePass : public Pass {
 public:
  explicit FuseEpiloguePass(const FuseEpilogueOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_epilogue"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Puts products and the pointwise ops that follow into fused nodes.";
  }
  void VisitOptions(OptionVisitor& visitor) override { options_.limits.Visit(visitor); }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      const FusionDecision decision = DecideFuseEpilogue(*graph, context.target(), options_);
      WEFT_RETURN_IF_ERROR(ApplyFusion(*graph, decision, context));
    }
    return absl::OkStatus();
  }

 private:
  FuseEpilogueOptions options_;
};

}  // namespace

FusionDecision DecideFuseEpilogue(const Graph& graph, const Target& target,
                                  const FuseEpilogueOptions& options) {
  FusePlanner planner(graph, target, options.limits);
  EpilogueFuser(planner).Run();
  return planner.Take();
}

std::unique_ptr<Pass> CreateFuseEpiloguePass(const FuseEpilogueOptions& options) {
  return std::make_unique<FuseEpiloguePass>(options);
}

std::unique_ptr<Pass> CreateFuseEpiloguePass() { return CreateFuseEpiloguePass({}); }

}  // namespace weft
