// Checks that a schedule is one for its kernel, which executors can obey.
#ifndef WEFT_LOWERING_CHECK_SCHEDULE_H_
#define WEFT_LOWERING_CHECK_SCHEDULE_H_

#include "absl/status/status.h"
#include "lowering/kernel.h"

namespace weft {

// A schedule has a power of two lanes. Each nest has a lane loop if it has loops, tiles of rows
// that end where blocks of partial results do, one copy of a stage that looks for positions, and
// prefetches plain loads alone. InvalidArgument names the kernel and the nest; a schedule that is
// not decided is refused, too.
absl::Status CheckSchedule(const Kernel& kernel);

}  // namespace weft

#endif  // WEFT_LOWERING_CHECK_SCHEDULE_H_
