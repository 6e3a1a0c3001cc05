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

  void Run(std::vector<QuantVerdict>* verdicts) {
    patterns_ = FindQuantPatterns(candidates_, constants_, policy_, [this](const Node& node) {
      return exclusions_.WhyExcluded(node);
    });
    for (const QuantPattern& pattern : patterns_.patterns) Annotate(pattern);
    FindWanted();
    for (const QuantCandidate& candidate : candidates_) verdicts->push_back(Verdict(candidate));
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

  // The values that something quantized reads, users before makers.
  void FindWanted() {
    absl::flat_hash_set<const Node*> passes_on;
    for (const QuantCandidate& candidate : candidates_) {
      if (Propagates(candidate)) passes_on.insert(candidate.node);
    }
    for (auto it = candidates_.rbegin(); it != candidates_.rend(); ++it) {
      if (!Propagates(*it)) continue;
      for (int i = 0; i < it->node->num_results(); ++i) {
        const Value* result = it->node->result(i);
        for (const Use* use = result->first_use(); use != nullptr; use = use->next()) {
          Node* user = use->user();
          if (use->operand_index() >= user->num_operands()) continue;
          const bool reads = groups_.Find(PlaceOf(user, use->operand_index())) >= 0;
          const bool passes =
              passes_on.contains(user) && (!IsView(*user) || wanted_.contains(user));
          if (reads || passes) wanted_.insert(it->node);
        }
      }
    }
  }

  QuantVerdict Verdict(const QuantCandidate& candidate) {
    QuantVerdict verdict;
    Node* node = verdict.node = candidate.node;
    const auto pattern = patterns_.of.find(node);
    if (pattern != patterns_.of.end()) {
      const QuantPattern& p = patterns_.patterns[pattern->second];
      verdict.quantized = true;
      verdict.text =
          p.nodes.front() == node ? p.ToString() : "part of " + NodeText(*p.nodes.front());
      return verdict;
    }
    if (candidate.propagated >= 0) {
      verdict.text = WhyNotPropagated(candidate);
      verdict.quantized = verdict.text.empty();
      if (!verdict.quantized) return verdict;
      verdict.text = "propagates";
      Propagate(candidate);
      return verdict;
    }
    verdict.text = patterns_.why_not.at(node);
    return verdict;
  }

  // The operands whose values the node passes on: those of the result's dtype.
  static std::vector<int> PassedOperands(const Node& node) {
    std::vector<int> operands;
    const DType dtype = node.result()->type().dtype();
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i) || !node.operand(i)->type().is_tensor()) continue;
      if (node.operand(i)->type().dtype() == dtype) operands.push_back(i);
    }
    return operands;
  }

  std::string WhyNotPropagated(const QuantCandidate& candidate) {
    const Node& node = *candidate.node;
    std::string excluded = exclusions_.WhyExcluded(node);
    if (!excluded.empty()) return excluded;
    if (!IsQuantizable(node.result()->type())) {
      const Type type = node.result()->type();
      return absl::StrCat("the result is ", type.is_tensor() ? DTypeName(type.dtype()) : "a size");
    }
    const std::vector<int> operands = PassedOperands(node);
    for (const int i : operands) {
      if (IsQuantizedValue(node.operand(i))) continue;
      return absl::StrCat("operand ", i, " is not quantized");
    }
    if (operands.empty()) return "it passes no value on";
    return IsView(node) && !wanted_.contains(&node) ? "nothing quantized reads it" : "";
  }

  bool IsQuantizedValue(Value* value) const {
    return quantized_.contains(value) || groups_.Find(PlaceOf(value)) >= 0;
  }

  void Propagate(const QuantCandidate& candidate) {
    Node* node = candidate.node;
    const QuantSpec& spec = policy_.specs[candidate.propagated].spec;
    const int result = groups_.Add(PlaceOf(node->result()), spec);
    quantized_.insert(node->result());
    for (const int i : PassedOperands(*node)) {
      groups_.Share(result, groups_.Add(PlaceOf(node, i), spec));
    }
    for (int i = 1; i < node->num_results(); ++i) {
      if (node->result(i)->type().is_tensor() &&
          node->result(i)->type().dtype() == node->result()->type().dtype()) {
        groups_.Share(result, groups_.Add(PlaceOf(node->result(i)), spec));
        quantized_.insert(node->result(i));
      }
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
    absl::StrAppend(&text, NodeText(*verdict.node),
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
    GraphAnnotator(policy, candidates, graph, &exclusions, &groups).Run(&decision.verdicts);
  }
  WEFT_ASSIGN_OR_RETURN(decision.marks, groups.Finish(module));
  decision.unmet = exclusions.Unmet();
  return decision;
}

}  // namespace weft
