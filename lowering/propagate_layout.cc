#include "lowering/propagate_layout.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/cost/cost.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "lowering/loop_space.h"

namespace weft {
namespace {

// With at most this many channels (such as colours of an image), a routine reads rows directly.
constexpr int64_t kFewChannels = 4;

bool HasFewChannels(Type type) {
  return type.dim(1).is_constant() && type.dim(1).value() <= kFewChannels;
}

bool HasChannels(Type type) { return type.is_tensor() && type.rank() >= 3 && type.rank() <= 5; }

class Collector {
 public:
  Collector(const Graph& graph, const Target& target)
      : graph_(graph), target_(target), symbols_(graph.module().symbols()) {}

  std::vector<LayoutRegion> Run() {
    for (const Node* node : graph_.nodes()) Classify(*node);
    for (size_t i = 0; i < members_.size(); ++i) JoinUsers(static_cast<int>(i));
    absl::flat_hash_map<int, int> region_of;
    std::vector<LayoutRegion> regions;
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto [it, inserted] =
          region_of.emplace(Find(static_cast<int>(i)), static_cast<int>(regions.size()));
      if (inserted) regions.emplace_back();
      AddTo(members_[i], &regions[it->second]);
    }
    regions.erase(std::remove_if(regions.begin(), regions.end(),
                                 [](const LayoutRegion& r) { return r.num_routines == 0; }),
                  regions.end());
    return regions;
  }

 private:
  struct Member {
    const Node* node = nullptr;
    const Node* routine = nullptr;  // The node, or the one in its nested graph.
  };

  bool PrefersChannelsLast(const Node& node) const {
    const Routine* routine = FindRoutine(target_, node);
    return routine != nullptr && routine->prefers_channels_last;
  }

  const Node* RoutineOf(const Node& node) const {
    if (PrefersChannelsLast(node)) return &node;
    if (!node.Is(ops::fused)) return nullptr;
    for (const Node* inner : node.region(0)->nodes()) {
      if (PrefersChannelsLast(*inner)) return inner;
    }
    return nullptr;
  }

  static bool IsNeutral(const Node& node) {
    if (node.Is(ops::cat)) return true;
    if (!node.Is(ops::fused) && !node.op().has(kPointwise)) return false;
    // The op follows the order of a tensor operand with the result's sizes.
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.has_operand(i) && node.operand(i)->type().is_tensor() &&
          node.operand(i)->type().dims() == node.result()->type().dims()) {
        return true;
      }
    }
    return false;
  }

  void Classify(const Node& node) {
    if (node.num_results() == 0 || !HasChannels(node.result()->type())) return;
    const Node* routine = RoutineOf(node);
    if (routine == nullptr && (HasFewChannels(node.result()->type()) || !IsNeutral(node))) return;
    index_[&node] = static_cast<int>(members_.size());
    parent_.push_back(static_cast<int>(members_.size()));
    members_.push_back({&node, routine});
  }

  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void JoinUsers(int i) {
    for (int r = 0; r < members_[i].node->num_results(); ++r) {
      const Value* value = members_[i].node->result(r);
      for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
        const auto user = index_.find(use->user());
        if (user != index_.end() && HasChannels(value->type())) {
          parent_[std::max(Find(i), Find(user->second))] = std::min(Find(i), Find(user->second));
        }
      }
    }
  }

  double SizeOf(Type type) const {
    const auto numel = UsualSize(type.numel(), symbols_);
    return static_cast<double>(numel.value_or(0));
  }

  // True if the user belongs to a region or supports any strides.
  bool ReadsAnyOrder(const Node& user) const {
    return index_.contains(&user) || IsKernelReduction(user.op()) || user.Is(ops::permute) ||
           user.Is(ops::slice) || user.Is(ops::select) || user.op().has(kPointwise);
  }

  void AddTo(const Member& member, LayoutRegion* region) {
    const Node& node = *member.node;
    region->nodes.push_back(&node);
    if (member.routine != nullptr) {
      ++region->num_routines;
      region->row_major_cost += SizeOf(node.result()->type()) + SizeOf(InputOf(member));
    }
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!IsActivation(member, i)) continue;
      const Value* x = node.operand(i);
      const Type type = x->type();
      if (x->IsResultOf(ops::constant)) continue;
      const bool inside = x->node() != nullptr && index_.contains(x->node());
      if (!inside && !HasFewChannels(type) && !ComesChannelsLast(*x))
        region->channels_last_cost += SizeOf(type);
    }
    for (int r = 0; r < node.num_results(); ++r) {
      const Value* value = node.result(r);
      bool leaves = false;
      for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
        leaves = leaves || !ReadsAnyOrder(*use->user());
      }
      if (leaves) region->channels_last_cost += SizeOf(value->type());
    }
  }

  // A view that has a dense tensor's last dim for channels.
  static bool ComesChannelsLast(const Value& x) {
    if (!x.IsResultOf(ops::permute)) return false;
    std::vector<int64_t> order = {0, x.type().rank() - 1};
    for (int d = 1; d + 1 < x.type().rank(); ++d) order.push_back(d);
    return ops::PermuteView(*x.node()).dims() == order;
  }

  // True for operands that the routine reads in the order of its result, which weights are not.
  static bool IsActivation(const Member& member, int i) {
    const Node& node = *member.node;
    if (member.routine == nullptr || !node.has_operand(i)) return false;
    const Type type = node.operand(i)->type();
    if (!HasChannels(type)) return false;
    if (member.routine == &node) return i == 0;
    return node.region(0)->input(i) == member.routine->operand(0) ||
           type.dims() == node.result()->type().dims();
  }

  // Type of the routine's input.
  static Type InputOf(const Member& member) { return member.routine->operand(0)->type(); }

  const Graph& graph_;
  const Target& target_;
  const SymbolTable& symbols_;
  std::vector<Member> members_;
  absl::flat_hash_map<const Node*, int> index_;
  std::vector<int> parent_;
};

}  // namespace

std::vector<LayoutRegion> CollectLayoutRegions(const Graph& graph, const Target& target) {
  return Collector(graph, target).Run();
}

absl::flat_hash_set<const Node*> DecideLayouts(const std::vector<LayoutRegion>& regions) {
  absl::flat_hash_set<const Node*> nodes;
  for (const LayoutRegion& region : regions) {
    if (region.channels_last_cost >= region.row_major_cost) continue;
    nodes.insert(region.nodes.begin(), region.nodes.end());
  }
  return nodes;
}

std::string ToString(const std::vector<LayoutRegion>& regions) {
  std::string text;
  for (const LayoutRegion& r : regions) {
    const bool last = r.channels_last_cost < r.row_major_cost;
    absl::StrAppend(&text, "region of ", r.num_routines, " routines and ",
                    r.nodes.size() - r.num_routines, " other nodes from %", r.nodes[0]->id(), ": ",
                    last ? "channels-last" : "row-major", " (", r.row_major_cost,
                    " elements reordered row-major, ", r.channels_last_cost, " channels-last)\n");
  }
  return text;
}

}  // namespace weft
