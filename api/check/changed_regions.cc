#include "api/check/changed_regions.h"

#include <algorithm>
#include <map>
#include <string>

#include "api/check/same_graph.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr uint8_t kBefore = 1;
constexpr uint8_t kAfter = 2;
constexpr uint8_t kInput = 4;

// Constants of at most this many elements are part of a region; larger ones are inputs of it, so
// that equal layers with different weights give equal regions.
constexpr int64_t kSmallConstant = 16;

bool IsSmallConstant(const Value* value) {
  const HostTensor* literal = LiteralOf(value);
  return literal != nullptr && literal->numel() <= kSmallConstant;
}

std::vector<int> PositionsOf(const Graph& graph) {
  std::vector<int> positions(graph.node_id_limit());
  int next = 0;
  for (const Node* node : graph.nodes()) positions[node->id()] = next++;
  return positions;
}

}  // namespace

std::vector<uint32_t> NodeIdsOf(const Graph& graph) {
  std::vector<uint32_t> ids;
  ids.reserve(graph.num_nodes());
  for (const Node* node : graph.nodes()) ids.push_back(node->id());
  return ids;
}

ChangedRegions::ChangedRegions(const Graph& before, const Graph& after,
                               absl::Span<const uint32_t> ids)
    : by_ids_(!ids.empty()) {
  before_.graph = &before;
  after_.graph = &after;
  for (Side* side : {&before_, &after_}) {
    side->classes.assign(side->graph->value_id_limit(), -1);
    side->positions = PositionsOf(*side->graph);
  }
  MatchInputs();
  MatchNodes(ids);
  for (const Node* node : before.nodes()) AddBefore(*node);
  for (const Node* node : after.nodes()) AddAfter(*node);
  FindPairs(ids);
  Group();
  FindRepresentatives();
}

int ChangedRegions::NewClass() {
  parents_.push_back(static_cast<int>(parents_.size()));
  sides_.push_back(0);
  return parents_.back();
}

int ChangedRegions::Find(int c) const {
  while (parents_[c] != c) c = parents_[c] = parents_[parents_[c]];
  return c;
}

void ChangedRegions::Union(int a, int b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return;
  parents_[b] = a;
  sides_[a] |= sides_[b];
}

int ChangedRegions::ClassOf(const Side& side, const Value* value) const {
  return Find(side.classes[value->id()]);
}

void ChangedRegions::SetClass(Side& side, const Value* value, int c) {
  side.classes[value->id()] = c;
  sides_[Find(c)] |= &side == &before_ ? kBefore : kAfter;
}

void ChangedRegions::MatchInputs() {
  std::map<std::string, int> by_name;
  const Graph& before = *before_.graph;
  for (int i = 0; i < before.num_inputs(); ++i) {
    const int c = NewClass();
    sides_[c] |= kInput;
    by_name[before.input_info(i).name] = c;
    SetClass(before_, before.input(i), c);
  }
  const Graph& after = *after_.graph;
  for (int i = 0; i < after.num_inputs(); ++i) {
    auto it = by_name.find(after.input_info(i).name);
    const int c = it == by_name.end() ? NewClass() : it->second;
    sides_[c] |= kInput;
    SetClass(after_, after.input(i), c);
  }
}

// Puts the results of a kept node into the same classes on both sides.
void ChangedRegions::MatchNodes(absl::Span<const uint32_t> ids) {
  std::vector<const Node*> by_id(after_.graph->node_id_limit());
  was_.resize(by_id.size());
  for (const Node* node : after_.graph->nodes()) by_id[node->id()] = node;
  size_t next = 0;
  for (const Node* node : before_.graph->nodes()) {
    if (next >= ids.size()) break;
    const uint32_t id = ids[next++];
    const Node* now = id < by_id.size() ? by_id[id] : nullptr;
    if (now == nullptr || !IsKept(*node, *now)) continue;
    was_[id] = node;
    for (int i = 0; i < node->num_results(); ++i) {
      const int c = NewClass();
      SetClass(before_, node->result(i), c);
      SetClass(after_, now->result(i), c);
    }
  }
}

bool ChangedRegions::IsKept(const Node& before, const Node& after) {
  if (&before.op() != &after.op() || before.attr_list() != after.attr_list() ||
      before.num_operands() != after.num_operands() ||
      before.num_results() != after.num_results() || !SameRegions(before, after)) {
    return false;
  }
  for (int i = 0; i < before.num_operands(); ++i) {
    if (before.has_operand(i) != after.has_operand(i)) return false;
  }
  for (int i = 0; i < before.num_results(); ++i) {
    const Type a = before.result(i)->type(), b = after.result(i)->type();
    if (a == b) continue;
    if (a.kind() != b.kind()) return false;
    if (a.is_tensor() && (a.dtype() != b.dtype() || a.rank() != b.rank())) {
      return false;
    }
    refined_ = true;
  }
  return true;
}

ChangedRegions::Key ChangedRegions::KeyOf(const Side& side, const Node& node) const {
  if (!node.op().is_mergeable() || node.num_regions() != 0 || node.num_results() == 0) {
    return {};
  }
  Key key = {reinterpret_cast<uintptr_t>(&node.op())};
  if (node.Is(ops::constant) && !by_ids_) {
    key.push_back(LiteralOf(node.result())->Fingerprint());
  } else {
    key.push_back(reinterpret_cast<uintptr_t>(node.attr_list()));
  }
  for (int i = 0; i < node.num_operands(); ++i) {
    key.push_back(node.has_operand(i) ? ClassOf(side, node.operand(i)) + 1 : 0);
  }
  return key;
}

void ChangedRegions::AddBefore(const Node& node) {
  const bool kept = node.num_results() > 0 && before_.classes[node.result(0)->id()] >= 0;
  const Key key = KeyOf(before_, node);
  auto it = key.empty() ? by_key_.end() : by_key_.find(key);
  for (int i = 0; i < node.num_results(); ++i) {
    // The results of equal nodes have consecutive classes.
    const int equal = it == by_key_.end() ? -1 : it->second + i;
    if (kept) {
      if (equal >= 0) Union(equal, before_.classes[node.result(i)->id()]);
    } else {
      SetClass(before_, node.result(i), equal >= 0 ? equal : NewClass());
    }
  }
  if (!key.empty() && it == by_key_.end()) {
    by_key_[key] = before_.classes[node.result(0)->id()];
  }
}

void ChangedRegions::AddAfter(const Node& node) {
  const bool kept = was_[node.id()] != nullptr;
  const Key key = KeyOf(after_, node);
  auto it = key.empty() ? by_key_.end() : by_key_.find(key);
  for (int i = 0; i < node.num_results(); ++i) {
    const int equal = it == by_key_.end() ? -1 : it->second + i;
    if (kept) {
      if (equal >= 0) Union(equal, after_.classes[node.result(i)->id()]);
    } else {
      SetClass(after_, node.result(i), equal >= 0 ? equal : NewClass());
    }
  }
  if (!key.empty() && it == by_key_.end()) {
    by_key_[key] = after_.classes[node.result(0)->id()];
  }
}

void ChangedRegions::FindPairs(absl::Span<const uint32_t> ids) {
  for (const Node* node : after_.graph->nodes()) {
    const Node* was = was_[node->id()];
    if (was == nullptr || (node->op().is_pure() && !node->has_uses())) continue;
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->has_operand(i)) AddPair(was->operand(i), node->operand(i));
    }
  }
  const int n = std::min(before_.graph->num_outputs(), after_.graph->num_outputs());
  for (int i = 0; i < n; ++i) {
    AddPair(before_.graph->output(i), after_.graph->output(i));
  }
}

void ChangedRegions::AddPair(const Value* before, const Value* after) {
  const int a = ClassOf(before_, before), b = ClassOf(after_, after);
  if (a == b || !seen_pairs_.insert({a, b}).second) return;
  pairs_.push_back({before, after});
}

// True if other regions may use the value too, so that this region ends there.
bool ChangedRegions::IsBoundary(const Side& side, const Value* value,
                                const absl::flat_hash_set<int>* expanded) const {
  if (value->is_input()) return true;
  if (IsSmallConstant(value)) return false;
  const int c = ClassOf(side, value);
  if ((sides_[c] & kBefore) == 0 || (sides_[c] & kAfter) == 0) return false;
  return expanded != nullptr && !expanded->contains(c);
}

// Adds the nodes under `root` to group `pair`; returns the group, joined with the groups that own
// some of the nodes.
int ChangedRegions::Claim(const Side& side, const Value* root, int pair, std::vector<int>* owners,
                          std::vector<int>* groups) const {
  const absl::flat_hash_set<int> none;
  const auto find = [&](int g) {
    while ((*groups)[g] != g) g = (*groups)[g] = (*groups)[(*groups)[g]];
    return g;
  };
  int group = find(pair);
  std::vector<const Value*> stack = {root};
  while (!stack.empty()) {
    const Value* value = stack.back();
    stack.pop_back();
    if (IsBoundary(side, value, &none)) continue;
    const Node* node = value->node();
    if (node->Is(ops::constant)) continue;
    int& owner = (*owners)[node->id()];
    if (owner >= 0) {
      const int other = find(owner);
      const int first = std::min(group, other);
      (*groups)[std::max(group, other)] = first;
      group = first;
      continue;
    }
    owner = group;
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->has_operand(i)) stack.push_back(node->operand(i));
    }
  }
  return group;
}

void ChangedRegions::Group() {
  std::vector<int> groups(pairs_.size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
  std::vector<int> of_before(before_.graph->node_id_limit(), -1);
  std::vector<int> of_after(after_.graph->node_id_limit(), -1);
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const int pair = static_cast<int>(i);
    Claim(before_, pairs_[i].first, pair, &of_before, &groups);
    Claim(after_, pairs_[i].second, pair, &of_after, &groups);
  }
  std::map<int, int> index;  // Index of the region by the group's first pair.
  for (size_t i = 0; i < groups.size(); ++i) {
    int group = static_cast<int>(i);
    while (groups[group] != group) group = groups[group];
    auto [it, inserted] = index.emplace(group, static_cast<int>(index.size()));
    if (inserted) regions_.emplace_back();
    regions_[it->second].push_back(static_cast<int>(i));
  }
}

}  // namespace weft
