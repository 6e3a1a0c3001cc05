#include "passes/quantize/observer_plan.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/tensor/type.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/region_edit.h"

namespace weft {
namespace {

// Each value once, in the order of ids; the pass puts them into the order of the graph.
std::vector<Value*> ValuesOf(const SiteGroup& group) {
  std::vector<Value*> values;
  for (const QuantSite& site : group.sites) values.push_back(site.value);
  std::sort(values.begin(), values.end(),
            [](const Value* a, const Value* b) { return a->id() < b->id(); });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

absl::Status CheckGranularity(const SiteGroup& group) {
  const QuantSpec& spec = group.spec;
  if (spec.observer == "hqq") {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(group.sites[0]), ": the observer hqq is for weights alone"));
  }
  const bool slices = spec.granularity == QuantGranularity::kAxis;
  if (spec.granularity != QuantGranularity::kTensor && !slices) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(group.sites[0]), ": observed values have one scale or one for each ",
                     "slice, not \"", ToText(spec), "\""));
  }
  if (slices && StatisticOf(spec) == "histogram") {
    return absl::InvalidArgumentError(absl::StrCat(ToString(group.sites[0]), ": the observer ",
                                                   spec.observer, " is for one scale only"));
  }
  return absl::OkStatus();
}

// The constant size of the axis, equal for all values.
absl::StatusOr<int64_t> ChannelsOf(const SiteGroup& group, const std::vector<Value*>& values) {
  int64_t channels = -1;
  for (Value* value : values) {
    const Type type = value->type();
    const int axis = group.spec.axis < 0 ? group.spec.axis + type.rank() : group.spec.axis;
    if (axis < 0 || axis >= type.rank() || !type.dim(axis).is_constant()) {
      return absl::InvalidArgumentError(absl::StrCat(ToString(PlaceOf(value)), ": axis ",
                                                     group.spec.axis,
                                                     " of the spec has no constant size"));
    }
    const int64_t size = type.dim(axis).value();
    if (channels >= 0 && size != channels) {
      return absl::InvalidArgumentError(
          absl::StrCat(ToString(PlaceOf(values[0])), " and ", ToString(PlaceOf(value)),
                       " share scales of slices, but have ", channels, " and ", size, " slices"));
    }
    channels = size;
  }
  return channels;
}

// Names that no input of the function or of its nested graphs has.
class StateNames {
 public:
  explicit StateNames(const FunctionGraphs& function) {
    for (const Graph* graph : function.graphs()) {
      for (int i = 0; i < graph->num_inputs(); ++i) taken_.insert(graph->input_info(i).name);
    }
  }

  std::string Next() {
    std::string name;
    do {
      name = absl::StrCat("observer.", next_++);
    } while (taken_.contains(name));
    return name;
  }

 private:
  absl::flat_hash_set<std::string> taken_;
  int next_ = 0;
};

// The graph and those around it, the function last; empty where a state cannot go through a node
// that holds one of them.
std::vector<const Graph*> WayOut(const FunctionGraphs& function, const Graph* graph) {
  std::vector<const Graph*> way = {graph};
  while (const Node* holder = function.HolderOf(way.back())) {
    if (!CanCarry(*holder)) return {};
    way.push_back(holder->graph());
  }
  return way;
}

}  // namespace

absl::StatusOr<std::vector<ObserverPlan>> PlanObservers(const std::vector<SiteGroup>& groups) {
  std::vector<ObserverPlan> plans;
  for (size_t i = 0; i < groups.size(); ++i) {
    const SiteGroup& group = groups[i];
    if (!group.observer.empty() || !NeedsObserver(group)) continue;
    WEFT_RETURN_IF_ERROR(CheckGranularity(group));
    ObserverPlan plan;
    plan.group = static_cast<int>(i);
    plan.statistic = std::string(StatisticOf(group.spec));
    plan.values = ValuesOf(group);
    if (group.spec.granularity == QuantGranularity::kAxis) {
      WEFT_ASSIGN_OR_RETURN(plan.channels, ChannelsOf(group, plan.values));
      plan.axis = group.spec.axis;
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::string ToText(const std::vector<ObserverPlan>& plans) {
  std::string text;
  for (const ObserverPlan& plan : plans) {
    std::vector<std::string> names;
    for (Value* value : plan.values) names.push_back(ToString(PlaceOf(value)));
    absl::StrAppend(&text, plan.statistic,
                    plan.axis.has_value() ? absl::StrCat(" axis=", *plan.axis) : "", " of ",
                    absl::StrJoin(names, "; "), "\n");
  }
  return text;
}

absl::StatusOr<StatePlan> PlanStates(const FunctionGraphs& function) {
  StatePlan plan;
  StateNames names(function);
  for (Graph* graph : function.graphs()) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<SiteGroup> groups, CollectSites(*graph, &function));
    WEFT_ASSIGN_OR_RETURN(std::vector<ObserverPlan> plans, PlanObservers(groups));
    if (plans.empty()) continue;
    const std::vector<const Graph*> way = WayOut(function, graph);
    if (way.empty()) {
      plan.closed.push_back({graph, groups[plans[0].group]});
      continue;
    }
    for (ObserverPlan& one : plans) {
      for (const Graph* at : way) plan.through[at].push_back(static_cast<int>(plan.states.size()));
      const SiteGroup& group = groups[one.group];
      plan.states.push_back({graph, std::move(one), group, names.Next()});
    }
  }
  return plan;
}

}  // namespace weft
