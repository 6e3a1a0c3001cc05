// Which values get observers, and where the states of these go.
#ifndef WEFT_PASSES_QUANTIZE_OBSERVER_PLAN_H_
#define WEFT_PASSES_QUANTIZE_OBSERVER_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/quantize/function_graphs.h"
#include "passes/quantize/sites.h"

namespace weft {

// One state.
struct ObserverPlan {
  // An index in the groups.
  int group = 0;
  std::string statistic;
  std::optional<int64_t> axis;
  // Slices along the axis.
  std::optional<int64_t> channels;
  // Each once.
  std::vector<Value*> values;
};

// Groups without observer are left out. An axis whose size is not constant is an error that names
// the value.
absl::StatusOr<std::vector<ObserverPlan>> PlanObservers(const std::vector<SiteGroup>& groups);
// "histogram of %3 (relu)" or "min_max axis=1 of ..., ..."; a line for each.
std::string ToText(const std::vector<ObserverPlan>& plans);

// A state with the graph whose values it is about.
struct PlannedState {
  Graph* graph = nullptr;
  ObserverPlan plan;
  SiteGroup group;
  std::string name;
};

// The states of a function, and which of them go through each of its graphs.
struct StatePlan {
  std::vector<PlannedState> states;
  // Ascending.
  absl::flat_hash_map<const Graph*, std::vector<int>> through;
  // Nested graphs that no state can go into, with a group that needs one.
  std::vector<std::pair<Graph*, SiteGroup>> closed;

  absl::Span<const int> Through(const Graph* graph) const {
    const auto it = through.find(graph);
    return it == through.end() ? absl::Span<const int>() : absl::MakeConstSpan(it->second);
  }
};

// A state goes through the graph of its values and all graphs around it. Edits nothing.
absl::StatusOr<StatePlan> PlanStates(const FunctionGraphs& function);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_OBSERVER_PLAN_H_
