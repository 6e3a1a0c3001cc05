#include "passes/fuse/planner.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "passes/fuse/group.h"

namespace weft {

void FuseLimits::Visit(OptionVisitor& visitor) {
  visitor.Visit("max_nodes", &max_nodes, "nodes of a group; 0: what the target says");
  visitor.Visit("max_inputs", &max_inputs, "tensors that a group reads; 0: what the target says");
  visitor.Visit("seed", &seed, "not 0: leave out one merge in four, for tests");
}

FusePlanner::FusePlanner(const Graph& graph, const Target& target, const FuseLimits& limits)
    : graph_(graph), limits_(limits), decision_(graph) {
  if (limits_.max_nodes == 0) limits_.max_nodes = target.max_kernel_nodes;
  if (limits_.max_inputs == 0) limits_.max_inputs = target.max_kernel_inputs;
}

bool FusePlanner::IsUsedOnlyBy(int producer, int consumer) const {
  const Units& units = decision_.units;
  bool only = true;
  units.ForEachNode(producer, [&](Node* node) {
    for (int i = 0; only && i < node->num_results(); ++i) {
      for (Use* use = node->result(i)->first_use(); use != nullptr; use = use->next()) {
        if (use->user() != graph_.return_node()) {
          const int unit = units.Of(use->user());
          if (unit == producer || unit == consumer) continue;
        }
        only = false;
        return;
      }
    }
  });
  return only;
}

bool FusePlanner::FitsLimits(int a, int b, FuseRefusal* refusal) const {
  const Units& units = decision_.units;
  if (units.size(a) + units.size(b) > limits_.max_nodes) {
    refusal->reason = "the group would have more than $0 nodes";
    refusal->limit = limits_.max_nodes;
    return false;
  }
  int64_t inputs = 0;
  absl::flat_hash_set<const Value*> seen;
  for (int unit : {a, b}) {
    for (const Value* v : InputsOf(units, unit)) {
      if (v->node() != nullptr) {
        const int maker = units.Of(v->node());
        if (maker == a || maker == b) continue;
      }
      inputs += seen.insert(v).second;
    }
  }
  if (inputs <= limits_.max_inputs) return true;
  refusal->reason = "the group would read more than $0 tensors";
  refusal->limit = limits_.max_inputs;
  return false;
}

bool FusePlanner::LeavesOut(const Node& consumer, const Node& producer) const {
  if (limits_.seed == 0) return false;
  uint64_t hash = static_cast<uint64_t>(limits_.seed);
  for (const Node* node : {&consumer, &producer}) {
    hash = FastHashCombine(hash, static_cast<uint64_t>(decision_.units.PositionOf(node)));
  }
  return hash % 4 == 0;
}

bool FusePlanner::Merge(const Node& consumer, const Node& producer, bool independent) {
  Units& units = decision_.units;
  const int a = units.Of(&producer);
  const int b = units.Of(&consumer);
  FuseRefusal refusal = {&consumer, &producer};
  if (LeavesOut(consumer, producer)) {
    refusal.reason = "the seed leaves it out";
  } else if (FitsLimits(a, b, &refusal)) {
    switch (units.Merge(a, b, independent)) {
      case Units::Result::kMerged:
        return true;
      case Units::Result::kCycle:
        refusal.reason =
            independent ? "one depends on the other" : "what lies between them depends on it";
        break;
      case Units::Result::kTooFar:
        refusal.reason = "too much lies between them";
        break;
    }
  }
  decision_.refusals.push_back(refusal);
  return false;
}

}  // namespace weft
