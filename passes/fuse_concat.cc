#include "passes/fuse_concat.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/ops/control.h"
#include "graph/ops/ops.h"
#include "passes/fuse/group.h"
#include "passes/fuse/logs.h"
#include "passes/fuse/nodes.h"

namespace weft {
namespace {

bool IsConcat(const Node& node) { return node.Is(ops::cat) || node.Is(ops::stack); }

// May write its only result anywhere.
bool IsPart(const Node& node) {
  if (IsPointwise(node)) return true;
  if (!node.Is(ops::fused) || node.num_results() != 1) return false;
  const std::string& kind = ops::FusedView(node).kind();
  return kind == "pointwise" || kind == "reduction";
}

class ConcatFuser {
 public:
  ConcatFuser(FusePlanner& planner, bool epilogue) : planner_(planner), epilogue_(epilogue) {}

  void Run() {
    for (Node* node : planner_.graph().nodes()) {
      Units& units = planner_.units();
      if (!IsConcat(*node) || units.size(units.Of(node)) != 1) continue;
      int64_t parts = 0;
      for (int i = 0; i < node->num_operands(); ++i) {
        parts += TakePart(node, node->operand(i));
      }
      if (epilogue_) parts += TakeEpilogue(node);
      if (parts == 0) continue;
      planner_.Count("parts", parts);
      planner_.AddGroup(units.Of(node), "concat");
    }
  }

 private:
  bool IsTaken(const Node* a, const Node* b) {
    return planner_.units().Of(a) == planner_.units().Of(b);
  }

  // The part, and the views that lead from it to `node`.
  bool TakePart(const Node* node, const Value* value) {
    Units& units = planner_.units();
    std::vector<const Node*> path;
    const Node* maker = value->node();
    for (; maker != nullptr; maker = maker->operand(0)->node()) {
      if (IsTaken(maker, node) || units.size(units.Of(maker)) != 1) {
        return false;
      }
      path.push_back(maker);
      if (!IsView(*maker)) break;
    }
    if (maker == nullptr || !IsPart(*maker)) return false;
    for (const Node* made : path) {
      if (made->result()->has_one_use()) continue;
      planner_.Refuse(*node, *made, "others use the part as well");
      return false;
    }
    for (const Node* made : path) {
      if (!planner_.Merge(*node, *made)) return false;
    }
    return true;
  }

  int64_t TakeEpilogue(const Node* node) {
    int64_t taken = 0;
    const Node* last = node;
    while (last->result()->has_one_use()) {
      const Node* user = last->result()->first_use()->user();
      if (user == planner_.graph().return_node() || !IsPointwise(*user)) break;
      if (!SameSpace(*user, *node)) {
        planner_.Refuse(*user, *node, "its sizes differ");
        break;
      }
      if (planner_.units().size(planner_.units().Of(user)) != 1) break;
      if (!planner_.Merge(*user, *node)) break;
      last = user;
      ++taken;
    }
    return taken;
  }

  FusePlanner& planner_;
  const bool epilogue_;
};

class FuseConcatPass : public Pass {
 public:
  explicit FuseConcatPass(const FuseConcatOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_concat"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Puts concatenations and what makes their parts into fused nodes.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    options_.limits.Visit(visitor);
    visitor.Visit("epilogue", &options_.epilogue,
                  "pointwise nodes that alone use a concatenation join");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      const FusionDecision decision = DecideFuseConcat(*graph, context.target(), options_);
      WEFT_RETURN_IF_ERROR(ApplyFusion(*graph, decision, context));
    }
    return absl::OkStatus();
  }

 private:
  FuseConcatOptions options_;
};

}  // namespace

FusionDecision DecideFuseConcat(const Graph& graph, const Target& target,
                                const FuseConcatOptions& options) {
  FusePlanner planner(graph, target, options.limits);
  ConcatFuser(planner, options.epilogue).Run();
  return planner.Take();
}

std::unique_ptr<Pass> CreateFuseConcatPass(const FuseConcatOptions& options) {
  return std::make_unique<FuseConcatPass>(options);
}

std::unique_ptr<Pass> CreateFuseConcatPass() { return CreateFuseConcatPass({}); }

}  // namespace weft
