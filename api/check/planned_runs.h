// Which seeded runs a check of a graph makes.
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

// Plain and wide elements, edge values where `edges` asks for them, and, for a graph whose
// inputs have symbols, several assignments of these (hints, small sizes, 1 and 0). With
// `more_runs`, so many further ones, most of them with edge values.
std::vector<PlannedRun> PlanRuns(const Graph& graph, bool edges, int more_runs);

// The inputs have symbols.
bool HasSymbols(const Graph& graph);

}  // namespace weft

#endif  // WEFT_API_CHECK_PLANNED_RUNS_H_
