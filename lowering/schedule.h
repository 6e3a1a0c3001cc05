// The order of a plan's steps, for peak memory.
//
// Steps keep the order that data gives: a step stays behind those that write
// what it reads, and steps that give symbols their values, or are control flow,
// stay where they are. Between these, of the steps that are ready the one is
// next that leaves the fewest bytes living, by the symbols' hints. The order is
// taken where its peak is below that of the graph's own order. Near-linear in
// steps.
#ifndef WEFT_LOWERING_SCHEDULE_H_
#define WEFT_LOWERING_SCHEDULE_H_

#include <cstdint>

#include "lowering/plan.h"

namespace weft {

// `symbols` has the hints.
void ScheduleSteps(const SymbolTable& symbols, Plan* plan);

// The most bytes of temporaries and outputs that live at a time, by the hints.
int64_t EstimatePeak(const Plan& plan);

}  // namespace weft

#endif  // WEFT_LOWERING_SCHEDULE_H_
