// Checks that a schedule fits its kernel and can be executed.
#ifndef WEFT_LOWERING_CHECK_SCHEDULE_H_
#define WEFT_LOWERING_CHECK_SCHEDULE_H_

#include "absl/status/status.h"
#include "lowering/kernel.h"

namespace weft {

// A schedule must have a power of two lanes. Each nest must have a lane loop if it has loops, tiles
// of rows that end at the ends of blocks, one copy of a stage with kArgMax or kArgMin, and
// prefetches of plain loads only. InvalidArgument names the kernel and the nest; an undecided
// schedule is an error, too.
absl::Status CheckSchedule(const Kernel& kernel);

}  // namespace weft

#endif  // WEFT_LOWERING_CHECK_SCHEDULE_H_
