// What a pass changed in a graph: the regions in which the graph before and the
// graph after it differ.
//
// Values of the two graphs are put into classes: the values of nodes that the
// pass left alone, and expressions over them that are equal by structure. A kept
// node whose operand has come into another class gives a pair of values that
// must be equal; so do the outputs. When all pairs are equal for every value of
// what they use, the graphs compute the same, by induction over their order.
//
// The nodes between the pairs and the kept values are the regions; those of
// pairs that share a node are one. Cost: linear in the graphs.
//
// A region can be cut out with some of the graph that leads to it, its context.
// Both sides get the context that the graph before has: what other regions do to
// it (turn the sign of a zero, say, which a division makes an infinity) is theirs
// to answer for.
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

// Ids of the nodes of a graph, in order. Taken before a pass runs, they tell
// which nodes of a clone the nodes of the edited graph have been.
std::vector<uint32_t> NodeIdsOf(const Graph& graph);

class ChangedRegions {
 public:
  // `before` is a clone of a graph that had nodes of these ids and was then
  // edited in place to `after`. Without ids nodes are the same when what they
  // compute from the inputs is equal by structure.
  ChangedRegions(const Graph& before, const Graph& after, absl::Span<const uint32_t> ids);

  int size() const { return static_cast<int>(regions_.size()); }
  // Some kept value has got a narrower type: a claim about the whole graph.
  bool refined() const { return refined_; }

  // A region as two modules with equal inputs.
  struct Cut {
    std::unique_ptr<Module> before;
    std::unique_ptr<Module> after;
    // The inputs are inputs of the graphs: a larger region does not exist.
    bool complete = false;
  };
  // With a context up to `hops` kept values away; -1: up to the inputs.
  absl::StatusOr<Cut> CutAt(int region, int hops) const;

 private:
  struct Side {
    const Graph* graph = nullptr;
    std::vector<int> classes;                   // By value id; -1: none.
    std::vector<int> positions;                 // By node id.
    std::vector<const Value*> representatives;  // By class: its first value.
  };
  using Key = std::vector<uint64_t>;
  using Pair = std::pair<const Value*, const Value*>;

  // Nodes of one graph and the values at which they stop, with classes.
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
  std::vector<uint8_t> sides_;  // Of a class: 1 before, 2 after, 4 an input.
  absl::flat_hash_map<Key, int> by_key_;
  std::vector<const Node*> was_;  // By id of nodes of after: in before.
  std::vector<Pair> pairs_;
  absl::flat_hash_set<std::pair<int, int>> seen_pairs_;
  std::vector<std::vector<int>> regions_;  // Indices of pairs.
};

}  // namespace weft

#endif  // WEFT_API_CHECK_CHANGED_REGIONS_H_
