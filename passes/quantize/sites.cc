#include "passes/quantize/sites.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "passes/quantize/function_graphs.h"

namespace weft {
namespace {

bool IsWritten(const Graph& graph, int input) {
  const std::vector<int>& writes = graph.write_backs();
  return std::binary_search(writes.begin(), writes.end(), input);
}

const HostTensor* WeightOf(const Graph& graph, const FunctionGraphs* function, const Value* value) {
  const Graph& outer = function == nullptr ? graph : function->function();
  if (function != nullptr) value = function->Captured(value);
  if (value->node() != nullptr) return LiteralOf(value);
  // An input of a nested graph that varies between its runs has no initial value.
  if (value->graph() != &outer) return nullptr;
  const InputInfo& info = outer.input_info(value->index());
  const bool weight = info.initial >= 0 && !IsWritten(outer, value->index());
  return weight ? &outer.module().constants().tensor(info.initial) : nullptr;
}

// A weight behind more nodes than these is taken for an activation.
constexpr int kMaxWeightNodes = 32;

// Whether the value is a weight or is computed from weights alone, by at most `nodes` nodes of the
// graph.
bool IsComputed(const Graph& graph, const FunctionGraphs* function, const Value* value,
                int* nodes) {
  if (WeightOf(graph, function, value) != nullptr) return true;
  const Node* node = value->node();
  if (node == nullptr || !node->op().is_pure() || node->num_regions() > 0 || --*nodes < 0) {
    return false;
  }
  int read = 0;
  for (int i = 0; i < node->num_operands(); ++i) {
    if (!node->has_operand(i)) continue;
    if (!IsComputed(graph, function, node->operand(i), nodes)) return false;
    ++read;
  }
  return read > 0;
}

class Collector {
 public:
  Collector(const Graph& graph, const FunctionGraphs* function)
      : graph_(graph), function_(function) {}

  absl::Status Add(const QuantPlace& place, absl::string_view observer) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<QuantNote> note, FindQuantNote(place));
    if (!note) return absl::OkStatus();
    QuantSite site = {place.quantized(), place.user, place.operand};
    site.weight = WeightOf(graph_, function_, site.value);
    int nodes = kMaxWeightNodes;
    site.computed = site.weight == nullptr && IsComputed(graph_, function_, site.value, &nodes);
    const std::string key = note->group < 0
                                ? absl::StrCat("%", site.value->id(), " ", ToText(note->spec))
                                : absl::StrCat(note->group);
    const auto [it, added] = by_key_.emplace(key, groups_.size());
    if (added) groups_.push_back({note->spec, std::string(observer), {}});
    SiteGroup& group = groups_[it->second];
    if (!(group.spec == note->spec)) {
      return absl::InvalidArgumentError(
          absl::StrCat(ToString(group.sites[0]), " and ", ToString(site),
                       " share parameters, but have the specs \"", ToText(group.spec), "\" and \"",
                       ToText(note->spec), "\""));
    }
    group.sites.push_back(site);
    return absl::OkStatus();
  }

  std::vector<SiteGroup> Take() { return std::move(groups_); }

 private:
  const Graph& graph_;
  const FunctionGraphs* function_;
  std::vector<SiteGroup> groups_;
  absl::flat_hash_map<std::string, size_t> by_key_;
};

}  // namespace

std::string ToString(const QuantSite& site) {
  return ToString(site.user == nullptr ? PlaceOf(site.value) : PlaceOf(site.user, site.operand));
}

absl::StatusOr<std::vector<SiteGroup>> CollectSites(const Graph& graph,
                                                    const FunctionGraphs* function) {
  Collector collector(graph, function);
  const auto add_value = [&collector](Value* value) {
    return collector.Add(PlaceOf(value), FindNote(value, kObserverKey));
  };
  for (Value* input : graph.inputs()) WEFT_RETURN_IF_ERROR(add_value(input));
  for (Node* node : graph.nodes()) {
    for (int i = 0; i < node->num_operands(); ++i) {
      if (!node->has_operand(i)) continue;
      WEFT_RETURN_IF_ERROR(collector.Add(PlaceOf(node, i), FindNote(node, i, kObserverKey)));
    }
    for (int i = 0; i < node->num_results(); ++i) WEFT_RETURN_IF_ERROR(add_value(node->result(i)));
  }
  return collector.Take();
}

bool NeedsObserver(const SiteGroup& group) {
  const bool chosen =
      group.spec.scheme == QuantScheme::kAffine || group.spec.scheme == QuantScheme::kSymmetric;
  if (!chosen || group.spec.dynamic) return false;
  const bool extrema = group.spec.observer == "min_max";
  for (const QuantSite& site : group.sites) {
    if (site.weight == nullptr && !(site.computed && extrema)) return true;
  }
  return false;
}

absl::Status CheckOneWeight(const SiteGroup& group) {
  for (const QuantSite& site : group.sites) {
    if (site.value == group.sites[0].value) continue;
    return absl::InvalidArgumentError(absl::StrCat(ToString(site), " shares parameters with ",
                                                   ToString(group.sites[0]),
                                                   ", which is computed from weights"));
  }
  return absl::OkStatus();
}

bool ComputesParams(const SiteGroup& group) {
  if (!IsObserved(group.spec) || NeedsObserver(group)) return false;
  return std::any_of(group.sites.begin(), group.sites.end(),
                     [](const QuantSite& site) { return site.computed; });
}

}  // namespace weft
