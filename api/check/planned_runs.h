// Plans the seeded runs that check a graph.
#ifndef WEFT_API_CHECK_PLANNED_RUNS_H_
#define WEFT_API_CHECK_PLANNED_RUNS_H_

#include <cstdint>
#include <vector>

#include "api/check/seeded_inputs.h"

namespace weft {

class Graph;

struct PlannedRun {
  SeedOptions::Values values = SeedOptions::Values::kPlain;
  SeedOptions::Sizes sizes = SeedOptions::Sizes::kHint;
};

// Runs with plain and wide elements, with edge values if `edges` is set, and, if the inputs of the
// graph have symbols, with several assignments of them (hints, small sizes, 1 and 0). `more_runs`
// is the number of additional runs, most of them with edge values.
std::vector<PlannedRun> PlanRuns(const Graph& graph, bool edges, int more_runs);

// True if the inputs have symbols.
bool HasSymbols(const Graph& graph);

}  // namespace weft

#endif  // WEFT_API_CHECK_PLANNED_RUNS_H_
