#include "passes/fuse_horizontal.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/cost/cost.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_def.h"
#include "graph/ops/control.h"
#include "graph/ops/ops.h"
#include "passes/fuse/group.h"
#include "passes/fuse/logs.h"
#include "passes/fuse/nodes.h"
#include "passes/fuse_horizontal/products.h"

namespace weft {
namespace {

// A product with at most this many operations is a small one.
constexpr int64_t kSmallProduct = 2 * 64 * 64 * 64;
// So many of a family are one launch whatever their sizes.
constexpr size_t kMany = 8;

// Elements of the first result, or -1.
int64_t ElementsOf(const Node& node) {
  if (!node.result()->type().is_tensor()) return -1;
  const SymInt n = node.result()->type().numel();
  return n.is_constant() ? n.value() : -1;
}

bool IsSmallProduct(const Node& node) {
  if (!node.Is(ops::matmul)) return false;
  const SymInt flops = CostOf(node).flops;
  return flops.is_constant() && flops.value() <= kSmallProduct;
}

bool IsMember(const Node& node) {
  if (node.Is(ops::fused)) {
    const std::string& kind = ops::FusedView(node).kind();
    return kind == "pointwise" || kind == "reduction";
  }
  return IsPointwise(node) || node.Is(ops::index_select) || node.Is(ops::scatter_nd) ||
         (IsReduction(node)) || IsSmallProduct(node);
}

// What makes nodes one family: all but sizes.
void AppendKey(const Node& node, std::string* key) {
  absl::StrAppend(key, node.op().name());
  const bool sizes = IsView(node) || node.Is(ops::reshape);
  const AttrList* attrs = node.attr_list();
  for (int i = 0; !sizes && i < attrs->size(); ++i) {
    absl::StrAppend(key, ",", (*attrs)[i].ToString());
  }
  for (int i = 0; i < node.num_results(); ++i) {
    const Type type = node.result(i)->type();
    absl::StrAppend(key, ":", static_cast<int>(type.dtype()));
    if (node.Is(ops::matmul)) absl::StrAppend(key, type.ToString());
  }
}

std::string KeyOf(const Node& node) {
  std::string key;
  AppendKey(node, &key);
  if (!node.Is(ops::fused)) return key;
  const Graph& body = *node.region(0);
  std::vector<int> places(body.value_id_limit(), -1);
  int place = 0;
  for (const Value* input : body.inputs()) places[input->id()] = place++;
  for (const Node* inner : body.nodes()) {
    absl::StrAppend(&key, ";");
    AppendKey(*inner, &key);
    for (int i = 0; i < inner->num_operands(); ++i) {
      const Value* v = inner->operand(i);
      absl::StrAppend(&key, " ", v == nullptr ? -1 : places[v->id()]);
    }
    for (int i = 0; i < inner->num_results(); ++i) {
      places[inner->result(i)->id()] = place++;
    }
  }
  return key;
}

class GroupFuser {
 public:
  GroupFuser(FusePlanner& planner, const FuseHorizontalOptions& options)
      : planner_(planner), options_(options) {}

  void Run() {
    for (const std::vector<Node*>& family : Families()) Form(family);
    for (size_t i = 0; i < groups_.size(); ++i) JoinNext(i);
    for (const Group& group : groups_) {
      if (group.members.empty()) continue;
      planner_.Count("members", static_cast<int64_t>(group.members.size()));
      planner_.AddGroup(planner_.units().Of(group.members[0][0]), "horizontal");
    }
  }

 private:
  // Members are lists of nodes, in order.
  struct Group {
    std::vector<std::vector<const Node*>> members;
  };

  // Nodes of equal level and key, in the order of their first members.
  std::vector<std::vector<Node*>> Families() {
    const Graph& graph = planner_.graph();
    std::vector<int> levels(graph.node_id_limit(), 0);
    std::vector<std::vector<Node*>> families;
    absl::flat_hash_map<std::string, size_t> index;
    for (Node* node : graph.nodes()) {
      int level = 0;
      for (int i = 0; i < node->num_operands(); ++i) {
        const Value* v = node->operand(i);
        if (v == nullptr || v->is_input()) continue;
        level = std::max(level, levels[v->node()->id()] + 1);
      }
      levels[node->id()] = level;
      if (!IsMember(*node)) continue;
      const auto [it, inserted] =
          index.emplace(absl::StrCat(level, " ", KeyOf(*node)), families.size());
      if (inserted) families.emplace_back();
      families[it->second].push_back(node);
    }
    return families;
  }

  bool IsWorthwhile(const std::vector<Node*>& family) const {
    if (family.size() < static_cast<size_t>(options_.min_group)) return false;
    if (family.size() >= kMany) return true;
    for (const Node* node : family) {
      const int64_t elements = ElementsOf(*node);
      if (elements < 0 || elements > options_.max_elements) return false;
    }
    return true;
  }

  void Form(const std::vector<Node*>& family) {
    if (!IsWorthwhile(family)) return;
    Group group;
    const auto close = [&] {
      if (group.members.size() >= 2) {
        for (const auto& member : group.members) {
          group_of_[member[0]] = static_cast<int>(groups_.size());
          member_of_[member[0]] = static_cast<int>(&member - group.members.data());
        }
        groups_.push_back(std::move(group));
      }
      group = Group();
    };
    for (const Node* node : family) {
      if (static_cast<int64_t>(group.members.size()) == options_.max_group) {
        close();
      }
      if (!group.members.empty() && !planner_.Merge(*node, *group.members[0][0], true)) {
        continue;
      }
      group.members.push_back({node});
    }
    close();
  }

  // The group whose members each use one of this group's, and alone; or -1.
  int NextOf(const Group& group, std::vector<int>* targets) const {
    int next = -1;
    absl::flat_hash_map<int, int> taken;
    for (const auto& member : group.members) {
      int target = -1;
      for (const Node* node : member) {
        for (int r = 0; r < node->num_results(); ++r) {
          for (const Use* use = node->result(r)->first_use(); use != nullptr; use = use->next()) {
            const Node* user = use->user();
            if (std::find(member.begin(), member.end(), user) != member.end()) {
              continue;
            }
            const auto it = group_of_.find(user);
            if (it == group_of_.end()) return -1;
            const int place = member_of_.at(user);
            if ((next >= 0 && it->second != next) || (target >= 0 && place != target)) {
              return -1;
            }
            next = it->second;
            target = place;
          }
        }
      }
      if (target < 0 || !taken.emplace(target, 1).second) return -1;
      targets->push_back(target);
    }
    return next;
  }

  void JoinNext(size_t index) {
    Group& group = groups_[index];
    if (group.members.empty()) return;
    std::vector<int> targets;
    const int next = NextOf(group, &targets);
    if (next < 0 || next == static_cast<int>(index)) return;
    Group& other = groups_[next];
    if (other.members.size() != group.members.size()) return;
    if (!planner_.Merge(*other.members[0].back(), *group.members[0][0])) return;
    for (size_t i = 0; i < targets.size(); ++i) {
      auto& member = other.members[targets[i]];
      member.insert(member.begin(), group.members[i].begin(), group.members[i].end());
    }
    group.members.clear();
  }

  FusePlanner& planner_;
  const FuseHorizontalOptions& options_;
  std::vector<Group> groups_;
  // Of the nodes that groups began with.
  absl::flat_hash_map<const Node*, int> group_of_;
  absl::flat_hash_map<const Node*, int> member_of_;
};

class FuseHorizontalPass : public Pass {
 public:
  explicit FuseHorizontalPass(const FuseHorizontalOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_horizontal"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override { return "Does independent work of one family at once."; }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("products", &options_.products, "products of one input become one");
    visitor.Visit("groups", &options_.groups, "nodes of one family become fused nodes");
    visitor.Visit("min_group", &options_.min_group, "the fewest members of a group");
    visitor.Visit("max_group", &options_.max_group, "the most members of a group");
    visitor.Visit("max_elements", &options_.max_elements,
                  "elements of a member's result in groups of fewer than eight");
    options_.limits.Visit(visitor);
  }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      if (options_.products) {
        const ProductDecision products = DecideProducts(CollectProducts(*graph));
        WEFT_RETURN_IF_ERROR(ApplyProducts(*graph, products, context));
      }
      if (!options_.groups) continue;
      const FusionDecision decision = DecideFuseHorizontal(*graph, context.target(), options_);
      WEFT_RETURN_IF_ERROR(ApplyFusion(*graph, decision, context));
    }
    return absl::OkStatus();
  }

 private:
  FuseHorizontalOptions options_;
};

}  // namespace

FusionDecision DecideFuseHorizontal(const Graph& graph, const Target& target,
                                    const FuseHorizontalOptions& options) {
  FusePlanner planner(graph, target, options.limits);
  GroupFuser(planner, options).Run();
  return planner.Take();
}

std::unique_ptr<Pass> CreateFuseHorizontalPass(const FuseHorizontalOptions& options) {
  return std::make_unique<FuseHorizontalPass>(options);
}

std::unique_ptr<Pass> CreateFuseHorizontalPass() { return CreateFuseHorizontalPass({}); }

}  // namespace weft
