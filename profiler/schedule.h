// Selects the recorded steps of a loop, like torch.profiler's schedule.
#ifndef WEFT_PROFILER_SCHEDULE_H_
#define WEFT_PROFILER_SCHEDULE_H_

#include <cstdint>

namespace weft::profiler {

enum class StepAction : uint8_t {
  kNone,
  kWarmup,         // Recorded and discarded: the first events are slower.
  kRecord,         // Recorded.
  kRecordAndSave,  // Recorded; the trace is complete at the end of the step.
};

// The first `skip_first` steps are not recorded. Then cycles follow, each of `wait` steps that are
// not recorded, `warmup` steps and `active` steps. There are `repeat` cycles; 0: no limit.
//
// The default records everything as one step, which is saved at the end of the session.
struct Schedule {
  int64_t wait = 0;
  int64_t warmup = 0;
  int64_t active = 0;  // 0: no schedule.
  int64_t repeat = 0;
  int64_t skip_first = 0;

  StepAction ActionAt(int64_t step) const;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SCHEDULE_H_
