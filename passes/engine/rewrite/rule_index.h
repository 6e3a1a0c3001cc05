// Finds the rules to try at a node.
//
// The first step is a look-up of the node's op in a small open-addressing table by address, so that
// a node of an op without rules costs a few instructions. The second is a discrimination tree over
// the ops that define the operands, and theirs: each inner node of the tree tests the op at one
// position below the root, and a leaf lists the rules whose patterns agree with all tests. The tree
// is built on demand, so it only has branches for combinations of ops that occur in graphs. A
// failed look-up costs the positions on one path, for any number of rules.
#ifndef WEFT_PASSES_ENGINE_REWRITE_RULE_INDEX_H_
#define WEFT_PASSES_ENGINE_REWRITE_RULE_INDEX_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class RuleIndex {
 public:
  // A rule, and an order of operands for its pattern (MatchRule).
  struct Candidate {
    int rule;
    uint32_t flips;
  };

  // A node of the discrimination tree.
  struct State {
    // Position to test: operand i of the root is 1 + i, operand j of its node is 16 (1 + i) + 1 +
    // j; 0 for a leaf.
    int position = 0;
    std::vector<int> alive;  // Indices in Entry::skeletons, in the rules' order.
    std::vector<std::pair<const OpDef*, State*>> next;
    State* other = nullptr;             // For ops that no pattern tests; null: not made yet.
    std::vector<Candidate> candidates;  // For a leaf.
  };

  // A pattern with an order of operands, and the ops that it requires below the root, by position.
  struct Skeleton {
    Candidate candidate;
    std::vector<std::pair<int, const OpDef*>> needs;
  };

  struct Entry {
    const OpDef* op = nullptr;
    OpSpec::FoldFn fold = nullptr;
    std::vector<int> rules;  // Indices for rule(), in order.
    int64_t folds = 0;       // Number of folds applied.
    std::vector<Skeleton> skeletons;
    State* root = nullptr;
    bool empty() const { return fold == nullptr && rules.empty(); }
  };

  RuleIndex(absl::Span<const absl::Span<const Rule>> themes, const PassContext& context, bool fold);

  const Rule& rule(int i) const { return *rules_[i]; }
  int num_rules() const { return static_cast<int>(rules_.size()); }
  // The largest LookingDepth of the rules; at least 1.
  int depth() const { return depth_; }
  // A hash of the admitted rules, their contents and the use of folds: equal for equal sets.
  uint64_t fingerprint() const { return fingerprint_; }

  Entry& ForOp(const OpDef& op) {
    if (last_->op == &op) return *last_;
    for (size_t slot = Hash(&op);; slot = (slot + 1) & (table_.size() - 1)) {
      Entry* entry = table_[slot];
      if (entry == nullptr) return Insert(op);
      if (entry->op == &op) return *(last_ = entry);
    }
  }

  // The rules of `entry` that may match at `node`, in order.
  const std::vector<Candidate>& Candidates(Entry& entry, const Node& node) {
    State* state = entry.root;
    while (state->position != 0) {
      state = Next(entry, state, OpAt(node, state->position));
    }
    return state->candidates;
  }

  // In the order of first use, which depends only on the graph.
  const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }

 private:
  size_t Hash(const OpDef* op) const {
    const uint64_t h = reinterpret_cast<uintptr_t>(op) * uint64_t{0x9e3779b97f4a7c15u};
    return static_cast<size_t>(h >> 32) & (table_.size() - 1);
  }
  Entry& Insert(const OpDef& op);
  void Place(Entry* entry);

  // Null if there is no such operand, or no node defines it.
  static const OpDef* OpAt(const Node& node, int position) {
    if (position >= 16) {
      const Node* inner = NodeAt(node, position / 16 - 1);
      return inner == nullptr ? nullptr : OpAt(*inner, position % 16);
    }
    const Node* inner = NodeAt(node, position - 1);
    return inner == nullptr ? nullptr : &inner->op();
  }
  static const Node* NodeAt(const Node& node, int i) {
    return node.has_operand(i) ? node.operand(i)->node() : nullptr;
  }

  State* Next(Entry& entry, State* state, const OpDef* op) {
    for (const auto& [asked, next] : state->next) {
      if (asked == op) return next;
    }
    return state->other != nullptr ? state->other : Grow(entry, state, op);
  }
  // Makes the branch of `state` for `op`.
  State* Grow(Entry& entry, State* state, const OpDef* op);
  State* MakeState(Entry& entry, std::vector<int> alive, int after);

  bool fold_;
  int depth_ = 1;
  uint64_t fingerprint_;
  std::vector<const Rule*> rules_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> table_;  // Open addressing; a power of two of slots.
  std::vector<std::unique_ptr<State>> states_;
  Entry none_;
  Entry* last_ = &none_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_RULE_INDEX_H_
