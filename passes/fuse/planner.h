// Merges of units as the passes that fuse decide them: within limits, with the
// reasons why not.
#ifndef WEFT_PASSES_FUSE_PLANNER_H_
#define WEFT_PASSES_FUSE_PLANNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "passes/engine/pass.h"
#include "passes/engine/pass_context.h"
#include "passes/fuse/group.h"
#include "passes/fuse/units.h"

namespace weft {

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
  FusePlanner(Graph& graph, PassContext& context, const FuseLimits& limits);

  Graph& graph() const { return graph_; }
  PassContext& context() const { return context_; }
  const SymbolTable& symbols() const { return graph_.module().symbols(); }
  Units& units() { return units_; }

  // Whether nobody outside of `producer` and `consumer` uses what `producer`
  // makes.
  bool IsUsedOnlyBy(int producer, int consumer) const;
  // Merges the units of the two nodes, which differ. False: it would be too
  // large, would make a cycle, or the seed says no; then a remark on `consumer`
  // says so.
  bool Merge(const Node& consumer, const Node& producer, bool independent = false);
  // Says why `producer` does not go with `consumer`.
  void Missed(const Node& consumer, const Node& producer, absl::string_view reason);

  // The group becomes a `fused` node of that kind in the end.
  void Add(int unit, absl::string_view kind) { groups_.push_back({unit, kind}); }
  absl::Status Apply();

 private:
  bool FitsLimits(int a, int b, std::string* reason) const;
  bool LeavesOut(const Node& consumer, const Node& producer) const;

  Graph& graph_;
  PassContext& context_;
  FuseLimits limits_;
  Units units_;
  std::vector<FuseGroup> groups_;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_PLANNER_H_
