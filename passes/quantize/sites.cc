#include "passes/quantize/sites.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

struct QuantNote {
  QuantSpec spec;
  std::string group;
};

absl::StatusOr<QuantNote> ParseNote(absl::string_view text) {
  constexpr absl::string_view kGroup = " group=";
  QuantNote note;
  const size_t at = text.rfind(kGroup);
  if (at != absl::string_view::npos) {
    note.group = std::string(text.substr(at + kGroup.size()));
    text = text.substr(0, at);
  }
  WEFT_ASSIGN_OR_RETURN(note.spec, ParseQuantSpec(text));
  return note;
}

class Collector {
 public:
  absl::Status Add(const QuantSite& site, absl::string_view text, absl::string_view observer) {
    if (text.empty()) return absl::OkStatus();
    auto note = ParseNote(text);
    if (!note.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(site), ": the note quant: ", note.status().message()));
    }
    const std::string key = note->group.empty()
                                ? absl::StrCat("%", site.value->id(), " ", ToText(note->spec))
                                : note->group;
    const auto [it, added] = by_key_.emplace(key, groups_.size());
    if (added) groups_.push_back({note->spec, std::string(observer), {}});
    SiteGroup& group = groups_[it->second];
    if (!(group.spec == note->spec)) {
      return absl::InvalidArgumentError(absl::StrCat(
          NameOf(group.sites[0]), " and ", NameOf(site), " share parameters, but have the specs \"",
          ToText(group.spec), "\" and \"", ToText(note->spec), "\""));
    }
    group.sites.push_back(site);
    return absl::OkStatus();
  }

  std::vector<SiteGroup> Take() { return std::move(groups_); }

 private:
  std::vector<SiteGroup> groups_;
  absl::flat_hash_map<std::string, size_t> by_key_;
};

std::string SourceOf(const Node& node) {
  const ProvenanceTable& table = node.graph()->module().provenance();
  const std::vector<std::string> names = table.Names(node.provenance(), 4);
  return names.empty() ? "" : absl::StrCat(" from ", absl::StrJoin(names, ","));
}

bool IsWritten(const Graph& graph, int input) {
  const std::vector<int>& writes = graph.write_backs();
  return std::binary_search(writes.begin(), writes.end(), input);
}

}  // namespace

std::string NameOf(const Node& node) {
  return absl::StrCat("node ", node.id(), " (", node.op().name(), ")", SourceOf(node));
}

std::string NameOf(const Value* value) {
  if (value->node() != nullptr) return NameOf(*value->node());
  return absl::StrCat("input ", value->index());
}

std::string NameOf(const QuantSite& site) {
  if (site.user == nullptr) return NameOf(site.value);
  return absl::StrCat("operand ", site.operand, " of ", NameOf(*site.user));
}

absl::StatusOr<std::vector<SiteGroup>> CollectSites(const Graph& graph) {
  Collector collector;
  const auto add_value = [&collector](Value* value) {
    return collector.Add({value}, FindNote(value, kQuantKey), FindNote(value, kObserverKey));
  };
  for (Value* input : graph.inputs()) WEFT_RETURN_IF_ERROR(add_value(input));
  for (Node* node : graph.nodes()) {
    for (int i = 0; i < node->num_operands(); ++i) {
      if (!node->has_operand(i)) continue;
      WEFT_RETURN_IF_ERROR(collector.Add({node->operand(i), node, i}, FindNote(node, i, kQuantKey),
                                         FindNote(node, i, kObserverKey)));
    }
    for (int i = 0; i < node->num_results(); ++i) WEFT_RETURN_IF_ERROR(add_value(node->result(i)));
  }
  return collector.Take();
}

const HostTensor* WeightOf(const Graph& graph, const Value* value) {
  if (value->node() != nullptr) return LiteralOf(value);
  const InputInfo& info = graph.input_info(value->index());
  const bool weight = info.initial >= 0 && !IsWritten(graph, value->index());
  return weight ? &graph.module().constants().tensor(info.initial) : nullptr;
}

bool NeedsObserver(const Graph& graph, const SiteGroup& group) {
  const bool chosen =
      group.spec.scheme == QuantScheme::kAffine || group.spec.scheme == QuantScheme::kSymmetric;
  if (!chosen || group.spec.dynamic) return false;
  for (const QuantSite& site : group.sites) {
    if (WeightOf(graph, site.value) == nullptr) return true;
  }
  return false;
}

}  // namespace weft
