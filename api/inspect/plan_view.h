// The plan of a module as data for pictures.
#ifndef WEFT_API_INSPECT_PLAN_VIEW_H_
#define WEFT_API_INSPECT_PLAN_VIEW_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "serialize/html/run_view.h"

namespace weft {

class Module;
struct Target;

// Lowers each function for the target. Kernels have their text with the schedule, and for a target
// of the CPU their C++, until all code together has kMaxCodeBytes.
absl::StatusOr<PlanView> ViewPlan(const Module& module, const Target& target);
inline constexpr size_t kMaxCodeBytes = size_t{8} << 20;

}  // namespace weft

#endif  // WEFT_API_INSPECT_PLAN_VIEW_H_
