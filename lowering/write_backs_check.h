// Checks the donors of a plan, without its graph.
#ifndef WEFT_LOWERING_WRITE_BACKS_CHECK_H_
#define WEFT_LOWERING_WRITE_BACKS_CHECK_H_

#include "absl/status/status.h"
#include "lowering/plan.h"

namespace weft {

// An error if a donor breaks one of the rules of write_backs.h. Independent of the code that finds
// donors.
absl::Status CheckWriteBacks(const Plan& plan);

}  // namespace weft

#endif  // WEFT_LOWERING_WRITE_BACKS_CHECK_H_
