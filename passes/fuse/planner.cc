#include "passes/fuse/planner.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace weft {

void FuseLimits::Visit(OptionVisitor& visitor) {
  visitor.Visit("max_nodes", &max_nodes, "nodes of a group; 0: what the target says");
  visitor.Visit("max_inputs", &max_inputs, "tensors that a group reads; 0: what the target says");
  visitor.Visit("seed", &seed, "not 0: leave out one merge in four, for tests");
}

FusePlanner::FusePlanner(Graph& graph, PassContext& context, const FuseLimits& limits)
    : graph_(graph), context_(context), limits_(limits), units_(graph) {
  const Target& target = context.target();
  if (limits_.max_nodes == 0) limits_.max_nodes = target.max_kernel_nodes;
  if (limits_.max_inputs == 0) limits_.max_inputs = target.max_kernel_inputs;
}

bool FusePlanner::IsUsedOnlyBy(int producer, int consumer) const {
  bool only = true;
  units_.ForEachNode(producer, [&](Node* node) {
    for (int i = 0; only && i < node->num_results(); ++i) {
      for (Use* use = node->result(i)->first_use(); use != nullptr; use = use->next()) {
        if (use->user() != graph_.return_node()) {
          const int unit = units_.Of(use->user());
          if (unit == producer || unit == consumer) continue;
        }
        only = false;
        return;
      }
    }
  });
  return only;
}

bool FusePlanner::FitsLimits(int a, int b, std::string* reason) const {
  if (units_.size(a) + units_.size(b) > limits_.max_nodes) {
    *reason = absl::StrCat("the group would have more than ", limits_.max_nodes, " nodes");
    return false;
  }
  int64_t inputs = 0;
  absl::flat_hash_set<const Value*> seen;
  for (int unit : {a, b}) {
    for (const Value* v : InputsOf(units_, unit)) {
      if (v->node() != nullptr) {
        const int maker = units_.Of(v->node());
        if (maker == a || maker == b) continue;
      }
      inputs += seen.insert(v).second;
    }
  }
  if (inputs <= limits_.max_inputs) return true;
  *reason = absl::StrCat("the group would read more than ", limits_.max_inputs, " tensors");
  return false;
}

bool FusePlanner::LeavesOut(const Node& consumer, const Node& producer) const {
  if (limits_.seed == 0) return false;
  uint64_t hash = static_cast<uint64_t>(limits_.seed);
  for (int position : {units_.PositionOf(&consumer), units_.PositionOf(&producer)}) {
    hash = FastHashCombine(hash, static_cast<uint64_t>(position));
  }
  return hash % 4 == 0;
}

void FusePlanner::Missed(const Node& consumer, const Node& producer, absl::string_view reason) {
  if (!context_.wants_remarks()) return;
  Remark remark = RemarkOn(consumer, RemarkKind::kMissed,
                           absl::StrCat("not fused with ", producer.op().name(), ": ", reason));
  remark.related = {producer.id()};
  context_.AddRemark(std::move(remark));
}

bool FusePlanner::Merge(const Node& consumer, const Node& producer, bool independent) {
  const int a = units_.Of(&producer);
  const int b = units_.Of(&consumer);
  std::string reason;
  if (LeavesOut(consumer, producer)) {
    reason = "the seed leaves it out";
  } else if (FitsLimits(a, b, &reason)) {
    switch (units_.Merge(a, b, independent)) {
      case Units::Result::kMerged:
        return true;
      case Units::Result::kCycle:
        reason = independent ? "one depends on the other" : "what lies between them depends on it";
        break;
      case Units::Result::kTooFar:
        reason = "too much lies between them";
        break;
    }
  }
  Missed(consumer, producer, reason);
  return false;
}

absl::Status FusePlanner::Apply() { return FuseGroups(graph_, units_, groups_, context_); }

}  // namespace weft
