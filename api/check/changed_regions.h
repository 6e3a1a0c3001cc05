// Finds the regions in which a graph before a pass and the graph after it differ.
//
// Values of the two graphs are put into classes: the values of nodes that the pass left alone, and
// expressions over them that are equal by structure. If an operand of a kept node has changed its
// class, the old and the new operand are a pair of values that must be equal; so are the outputs.
// If all pairs are equal for all values of their inputs, the graphs compute the same, by induction
// over their order.
//
// The nodes between the pairs and the kept values are the regions; pairs that share a node have one
// region. Cost: linear in the graphs.
//
// A region can be cut out together with its context: a part of the graph before it. Both sides get
// the context of the graph before the pass, because changes to the context (such as another sign of
// a zero, which a division turns into another infinity) belong to other regions.
#ifndef WEFT_API_CHECK_CHANGED_REGIONS_H_
#define WEFT_API_CHECK_CHANGED_REGIONS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/check/region.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_int.h"

namespace weft {

class Graph;
class Node;
class Value;

// Ids of the nodes of a graph, in order. Taken before a pass runs, they relate nodes of the edited
// graph to nodes of a clone.
std::vector<uint32_t> NodeIdsOf(const Graph& graph);

class ChangedRegions {
 public:
  // `before` is a clone of a graph that had nodes with these ids and was then edited in place to
  // `after`. Without ids, nodes are the same if they compute structurally equal expressions of the
  // inputs.
  ChangedRegions(const Graph& before, const Graph& after, absl::Span<const uint32_t> ids);

  int size() const { return static_cast<int>(regions_.size()); }
  // True if some kept value got a narrower type, which is a claim about the whole graph.
  bool refined() const { return refined_; }

  // A region as two modules with equal inputs.
  struct Cut {
    std::unique_ptr<Module> before;
    std::unique_ptr<Module> after;
    // All inputs are inputs of the graphs, so the region cannot be larger.
    bool complete = false;
  };
  // Cuts out a region with a context of up to `hops` kept values; -1: up to the inputs.
  absl::StatusOr<Cut> CutAt(int region, int hops) const;

 private:
  struct Side {
    const Graph* graph = nullptr;
    std::vector<int> classes;                   // By value id; -1: no class.
    std::vector<int> positions;                 // By node id.
    std::vector<const Value*> representatives;  // By class: its first value.
  };
  using Key = std::vector<uint64_t>;
  using Pair = std::pair<const Value*, const Value*>;

  // Nodes of one graph, and the values at which they end with their classes.
  struct Part {
    absl::flat_hash_set<const Node*> seen;
    std::vector<const Node*> nodes;
    absl::flat_hash_set<const Value*> met;
    std::vector<std::pair<const Value*, int>> boundary;
  };

  int NewClass();
  int Find(int c) const;
  void Union(int a, int b);
  int ClassOf(const Side& side, const Value* value) const;
  void SetClass(Side& side, const Value* value, int c);
  Key KeyOf(const Side& side, const Node& node) const;
  bool IsKept(const Node& before, const Node& after);

  void MatchInputs();
  void MatchNodes(absl::Span<const uint32_t> ids);
  void AddBefore(const Node& node);
  void AddAfter(const Node& node);
  void FindPairs(absl::Span<const uint32_t> ids);
  void AddPair(const Value* before, const Value* after);
  void Group();
  int Claim(const Side& side, const Value* root, int pair, std::vector<int>* owners,
            std::vector<int>* groups) const;
  bool IsBoundary(const Side& side, const Value* value,
                  const absl::flat_hash_set<int>* expanded) const;
  void Walk(const Side& side, const Value* root, const absl::flat_hash_set<int>* expanded,
            Part* part) const;
  void FindRepresentatives();
  const Value* Representative(const Side& side, int c) const;
  Part ContextOf(const Part& before, const Part& after, int hops) const;
  void Append(const Side& side, std::vector<const Node*> nodes, RegionSpec* spec) const;
  void Join(const Part& part, RegionSpec* spec) const;
  void AddInputs(const Part& context, const Part& after, RegionSpec* spec_before,
                 RegionSpec* spec_after) const;
  std::vector<SymInt> SymbolInputs(const RegionSpec& before, const RegionSpec& after) const;

  Side before_, after_;
  bool by_ids_ = false;
  bool refined_ = false;
  mutable std::vector<int> parents_;
  std::vector<uint8_t> sides_;  // By class: 1 before, 2 after, 4 an input.
  absl::flat_hash_map<Key, int> by_key_;
  std::vector<const Node*> was_;  // By id of nodes of `after`: the node of `before`.
  std::vector<Pair> pairs_;
  absl::flat_hash_set<std::pair<int, int>> seen_pairs_;
  std::vector<std::vector<int>> regions_;  // Indices of pairs.
};

}  // namespace weft

#endif  // WEFT_API_CHECK_CHANGED_REGIONS_H_
