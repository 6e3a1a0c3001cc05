#include "passes/quantize/annotate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/provenance.h"
#include "passes/quantize/match_row.h"
#include "passes/quantize/patterns.h"

namespace weft {
namespace {

// The nodes that stay float because the user says so.
class Exclusions {
 public:
  Exclusions(const Module& module, const QuantPolicy& policy, absl::Span<const std::string> exclude)
      : module_(module) {
    for (const std::string& name : policy.excluded_names) rows_.push_back({name, nullptr});
    for (const OpDef* op : policy.excluded_ops) rows_.push_back({std::string(op->name()), op});
    for (const std::string& name : exclude) rows_.push_back({name, module.registry().Find(name)});
    met_.resize(rows_.size());
  }

  // Empty: the node is not excluded. All rows that it meets are met.
  std::string WhyExcluded(const Node& node) {
    std::string why;
    std::vector<std::string> names;
    if (!rows_.empty()) names = module_.provenance().Names(node.provenance());
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!Meets(rows_[i], node, names)) continue;
      met_[i] = true;
      if (!why.empty()) continue;
      why = absl::StrCat("excluded by ", rows_[i].op != nullptr ? "op " : "name ", rows_[i].text);
    }
    return why;
  }

  std::vector<std::string> Unmet() const {
    std::vector<std::string> unmet;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!met_[i]) unmet.push_back(rows_[i].text);
    }
    return unmet;
  }

 private:
  struct Row {
    std::string text;
    const OpDef* op;
  };

  static bool Meets(const Row& row, const Node& node, const std::vector<std::string>& names) {
    if (row.op != nullptr) return row.op == &node.op();
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return MatchesGlob(row.text, name); });
  }

  const Module& module_;
  std::vector<Row> rows_;
  std::vector<bool> met_;
};

// Decides about one graph.
class GraphAnnotator {
 public:
  GraphAnnotator(const QuantPolicy& policy, const QuantCandidates& all,
                 const std::vector<QuantCandidate>& candidates, Exclusions* exclusions,
                 QuantGroups* groups)
      : policy_(policy),
        constants_(all.constants),
        candidates_(candidates),
        exclusions_(*exclusions),
        groups_(*groups) {}

  void Run(QuantDecision* decision) {
    patterns_ = FindQuantPatterns(candidates_, constants_, policy_, [this](const Node& node) {
      return exclusions_.WhyExcluded(node);
    });
    for (const QuantPattern& pattern : patterns_.patterns) {
      Annotate(pattern);
      decision->patterns.push_back(pattern.nodes);
    }
    FindWanted();
    for (const QuantCandidate& candidate : candidates_) {
      decision->verdicts.push_back(Verdict(candidate));
    }
  }

 private:
  void AddSlot(const QuantPlace& place, const QuantPolicy::Slot& slot) {
    if (slot.spec >= 0) groups_.Add(place, policy_.SpecOf(slot));
  }

  void Annotate(const QuantPattern& pattern) {
    Node* first = pattern.nodes.front();
    for (size_t i = 0; i < pattern.row->operands.size(); ++i) {
      const int operand = static_cast<int>(i);
      if (!first->has_operand(operand)) continue;
      AddSlot(PlaceOf(first, operand), pattern.row->operands[i]);
    }
    for (size_t i = 0; i < pattern.nodes.size(); ++i) {
      if (pattern.others[i] < 0) continue;
      groups_.Add(PlaceOf(pattern.nodes[i], pattern.others[i]),
                  policy_.specs[pattern.other_specs[i]].spec);
    }
    Value* result = pattern.nodes.back()->result();
    AddSlot(PlaceOf(result), pattern.row->result);
    quantized_.insert(result);
  }

  bool Propagates(const QuantCandidate& candidate) const {
    return candidate.propagated >= 0 && !patterns_.of.contains(candidate.node);
  }

  static bool IsView(const Node& node) { return node.op().schema().ViewedOperand(0) >= 0; }

  // Nodes that could pass a quantized value on, then those of them whose value something quantized
  // reads; users come before makers there.
  void FindWanted() {
    absl::flat_hash_set<const Value*> values = quantized_;
    absl::flat_hash_set<const Node*> passes_on;
    for (const QuantCandidate& candidate : candidates_) {
      if (!Propagates(candidate) || !WhyNoValue(*candidate.node, values).empty()) continue;
      passes_on.insert(candidate.node);
      for (const int i : PassedResults(*candidate.node)) values.insert(candidate.node->result(i));
    }
    for (auto it = candidates_.rbegin(); it != candidates_.rend(); ++it) {
      if (passes_on.contains(it->node) && IsRead(*it->node, passes_on)) wanted_.insert(it->node);
    }
  }

  // Whether an operand that is quantized reads a result.
  bool IsRead(const Node& node, const absl::flat_hash_set<const Node*>& passes_on) const {
    for (int i = 0; i < node.num_results(); ++i) {
      for (const Use* use = node.result(i)->first_use(); use != nullptr; use = use->next()) {
        Node* user = use->user();
        if (groups_.Find(PlaceOf(user, use->operand_index())) >= 0) return true;
        if (passes_on.contains(user) && (!IsView(*user) || wanted_.contains(user))) return true;
      }
    }
    return false;
  }

  QuantVerdict Verdict(const QuantCandidate& candidate) {
    QuantVerdict verdict;
    Node* node = verdict.node = candidate.node;
    const auto pattern = patterns_.of.find(node);
    if (pattern != patterns_.of.end()) {
      const QuantPattern& p = patterns_.patterns[pattern->second];
      verdict.quantized = true;
      verdict.text =
          p.nodes.front() == node ? p.ToString() : "part of " + DescribeNode(*p.nodes.front());
      return verdict;
    }
    if (candidate.propagated >= 0) {
      verdict.text = WhyNotPropagated(*node);
      verdict.quantized = verdict.text.empty();
      if (!verdict.quantized) return verdict;
      verdict.text = "propagates";
      Propagate(candidate);
      return verdict;
    }
    verdict.text = patterns_.why_not.at(node);
    return verdict;
  }

  // The operands whose values the node passes on, and the results that they become: those of the
  // first result's dtype.
  static std::vector<int> PassedOperands(const Node& node) {
    std::vector<int> operands;
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.has_operand(i) && HasDType(node.operand(i), node)) operands.push_back(i);
    }
    return operands;
  }
  static std::vector<int> PassedResults(const Node& node) {
    std::vector<int> results;
    for (int i = 0; i < node.num_results(); ++i) {
      if (HasDType(node.result(i), node)) results.push_back(i);
    }
    return results;
  }
  static bool HasDType(const Value* value, const Node& node) {
    const Type type = value->type(), first = node.result()->type();
    return type.is_tensor() && first.is_tensor() && type.dtype() == first.dtype();
  }

  // Why the node passes no value on that is in `values` or has a note; empty: it does.
  std::string WhyNoValue(const Node& node, const absl::flat_hash_set<const Value*>& values) const {
    const Type type = node.result()->type();
    if (!IsQuantizable(type)) {
      return absl::StrCat("the result is ", type.is_tensor() ? DTypeName(type.dtype()) : "a size");
    }
    const std::vector<int> operands = PassedOperands(node);
    for (const int i : operands) {
      Value* operand = node.operand(i);
      if (values.contains(operand) || groups_.Find(PlaceOf(operand)) >= 0) continue;
      return absl::StrCat("operand ", i, " is not quantized");
    }
    return operands.empty() ? "it passes no value on" : "";
  }

  std::string WhyNotPropagated(const Node& node) {
    std::string why = exclusions_.WhyExcluded(node);
    if (why.empty()) why = WhyNoValue(node, quantized_);
    if (!why.empty() || !IsView(node) || wanted_.contains(&node)) return why;
    return "nothing quantized reads it";
  }

  void Propagate(const QuantCandidate& candidate) {
    Node* node = candidate.node;
    const QuantSpec& spec = policy_.specs[candidate.propagated].spec;
    const int first = groups_.Add(PlaceOf(node->result()), spec);
    for (const int i : PassedOperands(*node)) {
      groups_.Share(first, groups_.Add(PlaceOf(node, i), spec));
    }
    for (const int i : PassedResults(*node)) {
      groups_.Share(first, groups_.Add(PlaceOf(node->result(i)), spec));
      quantized_.insert(node->result(i));
    }
  }

  const QuantPolicy& policy_;
  const absl::flat_hash_set<const Value*>& constants_;
  const std::vector<QuantCandidate>& candidates_;
  Exclusions& exclusions_;
  QuantGroups& groups_;
  QuantPatterns patterns_;
  // Results of patterns and of what passes them on.
  absl::flat_hash_set<const Value*> quantized_;
  // Nodes that pass a value on to something quantized.
  absl::flat_hash_set<const Node*> wanted_;
};

}  // namespace

int64_t QuantDecision::num_quantized() const {
  return std::count_if(verdicts.begin(), verdicts.end(),
                       [](const QuantVerdict& verdict) { return verdict.quantized; });
}

std::string ToString(const QuantDecision& decision) {
  std::string text;
  for (const QuantVerdict& verdict : decision.verdicts) {
    absl::StrAppend(&text, DescribeNode(*verdict.node),
                    verdict.quantized ? ": quantized: " : ": float: ", verdict.text, "\n");
  }
  for (const QuantMark& mark : decision.marks) {
    absl::StrAppend(&text, ToString(mark.place), ": ", ToText(mark.note), "\n");
  }
  return text;
}

absl::StatusOr<QuantDecision> DecideQuantization(const Module& module,
                                                 const QuantCandidates& candidates,
                                                 const QuantPolicy& policy,
                                                 absl::Span<const std::string> exclude) {
  QuantDecision decision;
  Exclusions exclusions(module, policy, exclude);
  QuantGroups groups;
  WEFT_RETURN_IF_ERROR(groups.AddNotes(module));
  for (const std::vector<QuantCandidate>& graph : candidates.graphs) {
    GraphAnnotator(policy, candidates, graph, &exclusions, &groups).Run(&decision);
  }
  WEFT_ASSIGN_OR_RETURN(decision.marks, groups.Finish(module));
  decision.unmet = exclusions.Unmet();
  return decision;
}

}  // namespace weft
