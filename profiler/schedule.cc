#include "profiler/schedule.h"

namespace weft::profiler {

StepAction Schedule::ActionAt(int64_t step) const {
  if (active <= 0) return StepAction::kRecord;
  if (step < skip_first) return StepAction::kNone;
  step -= skip_first;
  const int64_t cycle = wait + warmup + active;
  if (repeat > 0 && step / cycle >= repeat) return StepAction::kNone;
  const int64_t place = step % cycle;
  if (place < wait) return StepAction::kNone;
  if (place < wait + warmup) return StepAction::kWarmup;
  return place == cycle - 1 ? StepAction::kRecordAndSave : StepAction::kRecord;
}

}  // namespace weft::profiler
