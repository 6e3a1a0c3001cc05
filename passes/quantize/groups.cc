#include "passes/quantize/groups.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"

namespace weft {
namespace {

// All places of a module, in the order of the groups' numbers, until one is an error.
absl::Status ForEachPlace(const Module& module,
                          absl::FunctionRef<absl::Status(const QuantPlace&)> visit) {
  for (Graph* graph : module.AllGraphs()) {
    for (Value* input : graph->inputs()) WEFT_RETURN_IF_ERROR(visit(PlaceOf(input)));
    for (Node* node : graph->nodes()) {
      for (int i = 0; i < node->num_operands(); ++i) {
        if (node->has_operand(i)) WEFT_RETURN_IF_ERROR(visit(PlaceOf(node, i)));
      }
      for (int i = 0; i < node->num_results(); ++i) {
        WEFT_RETURN_IF_ERROR(visit(PlaceOf(node->result(i))));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

QuantGroups::Key QuantGroups::KeyOf(const QuantPlace& place) {
  if (place.user != nullptr) return {place.user, place.operand};
  return {place.value, -1};
}

int QuantGroups::Add(const QuantPlace& place, const QuantSpec& spec) {
  const auto [it, inserted] = numbers_.emplace(KeyOf(place), static_cast<int>(places_.size()));
  if (!inserted) return it->second;
  places_.push_back({place, {spec, -1}});
  parents_.push_back(it->second);
  return it->second;
}

int QuantGroups::Find(const QuantPlace& place) const {
  const auto it = numbers_.find(KeyOf(place));
  return it == numbers_.end() ? -1 : it->second;
}

int QuantGroups::Root(int i) {
  while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
  return i;
}

// The root is the place that was added first.
void QuantGroups::Share(int a, int b) {
  a = Root(a);
  b = Root(b);
  if (a < b) {
    parents_[b] = a;
  } else {
    parents_[a] = b;
  }
}

absl::Status QuantGroups::AddNotes(const Module& module) {
  bool any = false;
  for (const Graph* graph : module.AllGraphs()) any |= HasNotes(*graph);
  if (!any) return absl::OkStatus();
  absl::flat_hash_map<int64_t, int> first;
  return ForEachPlace(module, [&](const QuantPlace& place) -> absl::Status {
    WEFT_ASSIGN_OR_RETURN(const std::optional<QuantNote> note, FindQuantNote(place));
    if (!note) return absl::OkStatus();
    const int number = Add(place, note->spec);
    if (note->group < 0) return absl::OkStatus();
    const auto [it, inserted] = first.emplace(note->group, number);
    if (!inserted) Share(it->second, number);
    return absl::OkStatus();
  });
}

void QuantGroups::ShareEqualSpecs() {
  // The first place of each spec, by value.
  absl::flat_hash_map<const Value*, std::vector<int>> firsts;
  for (size_t i = 0; i < places_.size(); ++i) {
    std::vector<int>& known = firsts[places_[i].place.quantized()];
    bool found = false;
    for (size_t k = 0; k < known.size() && !found; ++k) {
      found = places_[known[k]].note.spec == places_[i].note.spec;
      if (found) Share(known[k], static_cast<int>(i));
    }
    if (!found) known.push_back(static_cast<int>(i));
  }
}

absl::Status QuantGroups::CheckSpecs() {
  for (size_t i = 0; i < places_.size(); ++i) {
    const QuantMark& mark = places_[i];
    const QuantMark& first = places_[Root(static_cast<int>(i))];
    if (mark.note.spec == first.note.spec) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(first.place), " is to be quantized as ", ToText(first.note.spec), " and ",
        ToString(mark.place), " as ", ToText(mark.note.spec), ", and they share their parameters"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<QuantMark>> QuantGroups::Finish(const Module& module) {
  ShareEqualSpecs();
  WEFT_RETURN_IF_ERROR(CheckSpecs());
  std::vector<int64_t> groups(places_.size(), -1);
  int64_t num_groups = 0;
  std::vector<QuantMark> marks;
  WEFT_RETURN_IF_ERROR(ForEachPlace(module, [&](const QuantPlace& place) {
    const int number = Find(place);
    if (number < 0) return absl::OkStatus();
    int64_t& group = groups[Root(number)];
    if (group < 0) group = num_groups++;
    marks.push_back(places_[number]);
    marks.back().note.group = group;
    return absl::OkStatus();
  }));
  return marks;
}

}  // namespace weft
