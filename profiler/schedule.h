// Which steps of a loop are recorded: torch.profiler's schedule.
#ifndef WEFT_PROFILER_SCHEDULE_H_
#define WEFT_PROFILER_SCHEDULE_H_

#include <cstdint>

namespace weft::profiler {

enum class StepAction : uint8_t {
  kNone,
  kWarmup,         // Recorded and thrown away: the first events cost more.
  kRecord,         // Recorded.
  kRecordAndSave,  // Recorded; the trace is ready when the step ends.
};

// The first `skip_first` steps are not recorded. Then cycles follow of `wait` steps that are not
// recorded, `warmup` and `active` ones; `repeat` cycles, or without end for 0.
//
// The default records everything, as one step that only the end of the session saves.
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
