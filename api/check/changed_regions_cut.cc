// Cuts changed regions out, each with its context.
#include <algorithm>

#include "api/check/changed_regions.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"

namespace weft {

void ChangedRegions::FindRepresentatives() {
  for (Side* side : {&before_, &after_}) {
    side->representatives.assign(parents_.size(), nullptr);
    const auto add = [&](const Value* value) {
      const Value*& first = side->representatives[ClassOf(*side, value)];
      if (first == nullptr) first = value;
    };
    for (const Value* input : side->graph->inputs()) add(input);
    for (const Node* node : side->graph->nodes()) {
      for (int i = 0; i < node->num_results(); ++i) add(node->result(i));
    }
  }
}

// Null if the side has no value of that class.
const Value* ChangedRegions::Representative(const Side& side, int c) const {
  return side.representatives[c];
}

// `expanded`: classes whose nodes are visited too; null: all.
void ChangedRegions::Walk(const Side& side, const Value* root,
                          const absl::flat_hash_set<int>* expanded, Part* part) const {
  std::vector<const Value*> stack = {root};
  while (!stack.empty()) {
    const Value* value = stack.back();
    stack.pop_back();
    if (IsBoundary(side, value, expanded)) {
      if (part->met.insert(value).second) part->boundary.push_back({value, ClassOf(side, value)});
      continue;
    }
    const Node* node = value->node();
    if (!part->seen.insert(node).second) continue;
    part->nodes.push_back(node);
    // Visits operands in order, then the definitions of sizes.
    const int n = node->num_operands();
    for (int i = n + node->num_symbol_operands(); i-- > 0;) {
      Value* operand = i < n ? node->operand(i) : node->symbol_operand(i - n);
      if (operand != nullptr) stack.push_back(operand);
    }
  }
}

// The nodes of the graph before the pass that lead to the values at which both sides of a region
// end.
ChangedRegions::Part ChangedRegions::ContextOf(const Part& before, const Part& after,
                                               int hops) const {
  absl::flat_hash_set<int> expanded;
  Part context;
  for (int hop = 0;; ++hop) {
    context = Part();
    for (const Part* part : {&before, &after}) {
      for (const auto& [value, c] : part->boundary) {
        const Value* root = Representative(before_, c);
        if (root != nullptr) Walk(before_, root, hops < 0 ? nullptr : &expanded, &context);
      }
    }
    if (hops < 0 || hop == hops) return context;
    for (const auto& [value, c] : context.boundary) expanded.insert(c);
  }
}

// Adds nodes in the graph's order.
void ChangedRegions::Append(const Side& side, std::vector<const Node*> nodes,
                            RegionSpec* spec) const {
  std::sort(nodes.begin(), nodes.end(), [&](const Node* a, const Node* b) {
    return side.positions[a->id()] < side.positions[b->id()];
  });
  spec->nodes.insert(spec->nodes.end(), nodes.begin(), nodes.end());
}

// Values on the boundary of a region are replaced by the representative of their class in the graph
// before, at which the region's context begins.
void ChangedRegions::Join(const Part& part, RegionSpec* spec) const {
  for (const auto& [value, c] : part.boundary) {
    const Value* by = Representative(before_, c);
    if (by != nullptr && by != value) spec->aliases[value] = by;
  }
}

// Gives both sides the same inputs: the classes at which the context ends, and inputs that only the
// graph after has.
void ChangedRegions::AddInputs(const Part& context, const Part& after, RegionSpec* spec_before,
                               RegionSpec* spec_after) const {
  absl::flat_hash_map<int, int> index;
  const auto add = [&](const Value* value, int c) {
    const auto [it, inserted] = index.emplace(c, static_cast<int>(index.size()));
    spec_before->inputs[value] = spec_after->inputs[value] = it->second;
    if (!inserted) return;
    int required = -1;
    if (value->is_input() && by_ids_) {
      const Graph& graph = Representative(before_, c) ? *before_.graph : *after_.graph;
      required = graph.input_info(value->index()).value;
    }
    const Value* now = Representative(after_, c);
    spec_before->input_types.push_back(value->type());
    spec_after->input_types.push_back(now != nullptr ? now->type() : value->type());
    for (RegionSpec* spec : {spec_before, spec_after}) spec->input_values.push_back(required);
  };
  for (const auto& [value, c] : context.boundary) add(value, c);
  for (const auto& [value, c] : after.boundary) {
    if (Representative(before_, c) == nullptr) add(value, c);
  }
}

// Symbols that the types of the inputs do not define on both sides.
std::vector<SymInt> ChangedRegions::SymbolInputs(const RegionSpec& before,
                                                 const RegionSpec& after) const {
  std::vector<SymInt> free = FreeSymbols(*before_.graph, before);
  const absl::flat_hash_set<SymInt> known(free.begin(), free.end());
  for (SymInt s : FreeSymbols(*after_.graph, after)) {
    if (!known.contains(s)) free.push_back(s);
  }
  std::vector<SymInt> unbound = Unbound(free, before.input_types);
  const absl::flat_hash_set<SymInt> seen(unbound.begin(), unbound.end());
  for (SymInt s : Unbound(free, after.input_types)) {
    if (!seen.contains(s)) unbound.push_back(s);
  }
  return unbound;
}

absl::StatusOr<ChangedRegions::Cut> ChangedRegions::CutAt(int region, int hops) const {
  const absl::flat_hash_set<int> none;
  Part before, after;
  RegionSpec spec_before, spec_after;
  for (int pair : regions_[region]) {
    Walk(before_, pairs_[pair].first, &none, &before);
    Walk(after_, pairs_[pair].second, &none, &after);
    spec_before.outputs.push_back(pairs_[pair].first);
    spec_after.outputs.push_back(pairs_[pair].second);
  }
  const Part context = ContextOf(before, after, hops);
  Cut cut;
  cut.complete = std::all_of(context.boundary.begin(), context.boundary.end(),
                             [](const auto& stop) { return stop.first->is_input(); });
  AddInputs(context, after, &spec_before, &spec_after);
  Join(before, &spec_before);
  Join(after, &spec_after);
  Append(before_, context.nodes, &spec_after);
  Append(after_, std::move(after.nodes), &spec_after);
  // Nodes that are in the region and in its context are copied once.
  for (const Node* node : context.nodes) {
    if (before.seen.insert(node).second) before.nodes.push_back(node);
  }
  Append(before_, std::move(before.nodes), &spec_before);
  const std::vector<SymInt> symbols = SymbolInputs(spec_before, spec_after);
  WEFT_ASSIGN_OR_RETURN(cut.before, CutRegion(*before_.graph, spec_before, symbols));
  WEFT_ASSIGN_OR_RETURN(cut.after, CutRegion(*after_.graph, spec_after, symbols));
  return cut;
}

}  // namespace weft
