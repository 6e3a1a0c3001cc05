#include "passes/quantize/patterns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/tensor/type.h"
#include "passes/quantize/match_row.h"

namespace weft {
namespace {

class PatternFinder {
 public:
  PatternFinder(const std::vector<QuantCandidate>& candidates,
                const absl::flat_hash_set<const Value*>& constants, const QuantPolicy& policy,
                absl::FunctionRef<std::string(const Node&)> why_excluded)
      : candidates_(candidates),
        constants_(constants),
        policy_(policy),
        why_excluded_(why_excluded) {}

  QuantPatterns Run() {
    for (const QuantCandidate& candidate : candidates_) MatchRows(candidate);
    std::vector<const QuantPolicy::Fusion*> fusions;
    for (const QuantPolicy::Fusion& fusion : policy_.fusions) fusions.push_back(&fusion);
    std::stable_sort(fusions.begin(), fusions.end(), [](const auto* a, const auto* b) {
      return a->steps.size() > b->steps.size();
    });
    for (const QuantPolicy::Fusion* fusion : fusions) TakeFusions(*fusion);
    for (const auto& [node, row] : matched_) {
      if (!found_.of.contains(node)) Take({row, {node}, {-1}, {-1}});
    }
    return std::move(found_);
  }

 private:
  void MatchRows(const QuantCandidate& candidate) {
    if (candidate.rows.empty()) return;
    // The first of several reasons stands.
    std::string& why_not = found_.why_not[candidate.node];
    why_not = why_excluded_(*candidate.node);
    if (!why_not.empty()) return;
    for (const int i : candidate.rows) {
      std::string wrong = WhyNoMatch(policy_, policy_.rows[i], *candidate.node, constants_);
      if (wrong.empty()) {
        matched_.emplace_back(candidate.node, &policy_.rows[i]);
        found_.why_not.erase(candidate.node);
        return;
      }
      if (why_not.empty()) why_not = std::move(wrong);
    }
  }

  void TakeFusions(const QuantPolicy::Fusion& fusion) {
    for (size_t i = matched_.size(); i-- > 0;) {
      const auto& [node, row] = matched_[i];
      if (&node->op() != fusion.first || found_.of.contains(node)) continue;
      std::optional<QuantPattern> pattern = Match(fusion, *row, node);
      if (pattern) Take(*std::move(pattern));
    }
  }

  std::optional<QuantPattern> Match(const QuantPolicy::Fusion& fusion, const QuantPolicy::Row& row,
                                    Node* first) const {
    QuantPattern pattern = {&row, {first}, {-1}, {-1}};
    for (const QuantPolicy::Step& step : fusion.steps) {
      const Value* value = pattern.nodes.back()->result();
      if (!value->has_one_use()) return std::nullopt;
      const Use* use = value->first_use();
      Node* user = use->user();
      const bool fits = std::find(step.ops.begin(), step.ops.end(), &user->op()) != step.ops.end();
      const bool in_place =
          use->operand_index() == 0 || (use->operand_index() == 1 && user->num_operands() == 2);
      if (!fits || !in_place || found_.of.contains(user) ||
          user->result()->type() != value->type() || !why_excluded_(*user).empty()) {
        return std::nullopt;
      }
      const int other = step.other < 0 ? -1 : OtherOperand(*user, use->operand_index());
      pattern.nodes.push_back(user);
      pattern.others.push_back(other);
      pattern.other_specs.push_back(other < 0 ? -1 : step.other);
    }
    return pattern;
  }

  // Constants and values of another shape stay float: they are biases and scales.
  int OtherOperand(const Node& node, int operand) const {
    const int other = 1 - operand;
    if (node.num_operands() != 2 || !node.has_operand(other)) return -1;
    const Value* value = node.operand(other);
    const bool same = value->type() == node.result()->type();
    return same && IsQuantizable(value->type()) && !constants_.contains(value) ? other : -1;
  }

  void Take(QuantPattern pattern) {
    for (const Node* node : pattern.nodes) {
      found_.of[node] = static_cast<int>(found_.patterns.size());
    }
    found_.patterns.push_back(std::move(pattern));
  }

  const std::vector<QuantCandidate>& candidates_;
  const absl::flat_hash_set<const Value*>& constants_;
  const QuantPolicy& policy_;
  const absl::FunctionRef<std::string(const Node&)> why_excluded_;
  // Nodes with the row that holds for them, in the order of the graph.
  std::vector<std::pair<Node*, const QuantPolicy::Row*>> matched_;
  QuantPatterns found_;
};

}  // namespace

std::string QuantPattern::ToString() const {
  return absl::StrJoin(nodes, " + ", [](std::string* out, const Node* node) {
    absl::StrAppend(out, node->op().name());
  });
}

QuantPatterns FindQuantPatterns(const std::vector<QuantCandidate>& candidates,
                                const absl::flat_hash_set<const Value*>& constants,
                                const QuantPolicy& policy,
                                absl::FunctionRef<std::string(const Node&)> why_excluded) {
  return PatternFinder(candidates, constants, policy, why_excluded).Run();
}

}  // namespace weft
