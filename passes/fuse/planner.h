// Makes a FusionDecision merge by merge: within limits, with the reasons why not.
#ifndef WEFT_PASSES_FUSE_PLANNER_H_
#define WEFT_PASSES_FUSE_PLANNER_H_

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/target/target.h"
#include "passes/engine/pass.h"
#include "passes/fuse/decision.h"

namespace weft {

class Node;
class SymbolTable;

// Options that these passes share.
struct FuseLimits {
  // Nodes of a group and tensors that it reads; 0: what the target says.
  int64_t max_nodes = 0;
  int64_t max_inputs = 0;
  // Not 0: one merge in four is left out, by a hash of this and of its place in
  // the graph. For tests: what is fused must not matter to the values.
  int64_t seed = 0;

  void Visit(OptionVisitor& visitor);
};

class FusePlanner {
 public:
  FusePlanner(const Graph& graph, const Target& target, const FuseLimits& limits);

  const Graph& graph() const { return graph_; }
  const SymbolTable& symbols() const { return graph_.module().symbols(); }
  Units& units() { return decision_.units; }

  // Whether nobody outside of `producer` and `consumer` uses what `producer`
  // makes.
  bool IsUsedOnlyBy(int producer, int consumer) const;
  // Merges the units of the two nodes, which differ. False: it would be too
  // large, would make a cycle, or the seed says no; then it is a refusal.
  bool Merge(const Node& consumer, const Node& producer, bool independent = false);
  // Says why `producer` does not go with `consumer`; the reason is a literal.
  void Refuse(const Node& consumer, const Node& producer, const char* reason) {
    decision_.refusals.push_back({&consumer, &producer, reason});
  }

  void AddGroup(int unit, absl::string_view kind) { decision_.groups.push_back({unit, kind}); }
  void Count(absl::string_view name, int64_t n) { decision_.counters.emplace_back(name, n); }
  // Ends the planning.
  FusionDecision Take() { return std::move(decision_); }

 private:
  // Fills in the reason when it does not fit.
  bool FitsLimits(int a, int b, FuseRefusal* refusal) const;
  bool LeavesOut(const Node& consumer, const Node& producer) const;

  const Graph& graph_;
  FuseLimits limits_;
  FusionDecision decision_;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_PLANNER_H_
