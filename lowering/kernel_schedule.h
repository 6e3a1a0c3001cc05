// The execution of a kernel on a machine, separate from the values that it computes.
//
// A schedule is decided from a kernel and a target (schedule_kernel.h). The interpreter and the
// code emitter obey it, so that both round at the same places: their results are equal in every
// bit.
//
// All outer loops of a nest are divided among threads. One loop of the nest, `lane_loop`, runs
// along the lanes of vectors:
//
//   rows: it is the innermost of the inner loops. Points of the outer loops are taken one by one.
//   A reduction has lanes * unroll partial results. Each run of the lane loop adds its values to
//   them in this order, starting again at the first partial result:
//
//     blocks of lanes * unroll values, one to each partial result;
//     then blocks of `lanes` values, to the first `lanes` partial results;
//     then the values that are left, to as many of the first partial results.
//
//   After all runs the groups of `lanes` partial results are combined into one group, in order, and
//   that group by halves: lane l with lane l + lanes / 2, then with lane l + lanes / 4, down to one
//   value.
//
//   columns: it is an outer loop, and runs inside of the other outer ones. A lane is a point,
//   which runs the inner loops in order and reduces one value after another.
//
// Float sums are computed in blocks, which bounds their error. After each `block` elements of a run
// of the lane loop (rows), or after each `block` inner points (columns), the partial results are
// added to a second set and reset.
#ifndef WEFT_LOWERING_KERNEL_SCHEDULE_H_
#define WEFT_LOWERING_KERNEL_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// The order in which the values of a reduction are combined.
enum class ReductionOrder : uint8_t {
  kNone,    // The nest has no reduction.
  kSerial,  // Columns: one after another.
  kLanes,   // Rows: into partial results, which are combined at the end.
};

// A load of a nest: its stage, and its index in the stage's body.
struct ScheduledLoad {
  int stage = 0;
  int instr = 0;

  friend bool operator==(ScheduledLoad a, ScheduledLoad b) {
    return a.stage == b.stage && a.instr == b.instr;
  }
};

struct NestSchedule {
  // The loop along the lanes; outer loops are counted first. -1: the nest has no loops.
  int lane_loop = -1;
  ReductionOrder reduction = ReductionOrder::kNone;
  // Most elements along the lanes that the interpreter computes with one instruction before the
  // next one. Results do not depend on it.
  int64_t tile = 1;
  // Elements of the lane loop (rows) or inner points (columns) per block of a float sum.
  int64_t block = 1;
  // Copies of the body in one iteration of the lane loop, by stage.
  std::vector<int> unroll;
  // Loads that the code of stage `prefetch_stage` prefetches. Rows: the element at the next point
  // of the last outer loop, if a row has at most `prefetch_bytes` bytes. Columns: the element
  // `prefetch_bytes` bytes ahead.
  std::vector<ScheduledLoad> prefetch;
  int prefetch_stage = -1;
  int64_t prefetch_bytes = 0;
};

struct KernelSchedule {
  // Elements in a vector of any dtype. 0: the schedule is undecided.
  int lanes = 0;
  std::vector<NestSchedule> nests;  // One per nest of the kernel.

  bool decided() const { return lanes > 0; }
};

inline constexpr int kMaxLanes = 64;
inline constexpr int kMaxUnroll = 8;
inline constexpr int64_t kMaxTile = 512;

// The text form: "schedule lanes=8 {", a line per nest, "}". Plans print it after the nests of a
// kernel.
std::string ToString(const KernelSchedule& schedule);

// The name in the text form: "none", "serial" or "lanes".
const char* ReductionOrderName(ReductionOrder order);

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_SCHEDULE_H_
