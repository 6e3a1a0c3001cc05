// Places temporaries in one arena, for given sizes.
//
// A temporary lives from the first step that touches it to the last one. A kernel's result takes
// the place of an operand that dies there, if every load of the operand reads only the element that
// the store at that point replaces. The result of a library step takes the place of the operand on
// which its routine accumulates, or which it updates (Step::accumulates, Step::updates). Buffers
// that live at the same time do not overlap. Plans with up to kMaxExact temporaries are searched
// for the smallest arena with a bounded number of steps; others are packed best-fit.
#ifndef WEFT_LOWERING_MEMORY_PLAN_H_
#define WEFT_LOWERING_MEMORY_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "lowering/plan.h"

namespace weft {

inline constexpr int64_t kArenaAlignment = 64;

struct MemoryLayout {
  // Offset in the arena by buffer; -1: not in the arena (inputs, outputs, constants, dynamic
  // buffers).
  std::vector<int64_t> offsets;
  int64_t arena_bytes = 0;
  // A lower bound of the arena with these in-place decisions: the most bytes alive at one time.
  int64_t lower_bound = 0;
};

// The part of a plan's memory layout that does not depend on sizes.
class MemoryPlan {
 public:
  explicit MemoryPlan(const Plan& plan);

  // Temporaries with one place, and the steps between which they live.
  struct Slot {
    std::vector<int> buffers;
    int first = 0;
    int last = 0;
    DType dtype = DType::kF32;
    SymInt numel;
  };
  const std::vector<Slot>& slots() const { return slots_; }
  // (operand, result) pairs that share their place.
  const std::vector<std::pair<int, int>>& in_place() const { return in_place_; }
  // True if `to` is such a result and `from` its operand.
  bool Replaces(int from, int to) const;
  // `bytes` has the size of each slot.
  MemoryLayout Place(absl::Span<const int64_t> bytes) const;
  int num_buffers() const { return num_buffers_; }

 private:
  int num_buffers_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::pair<int, int>> in_place_;
  std::vector<int> replaced_;  // By buffer: the operand it replaces; -1: none.
};

// True if result `result` of the step may take the memory of operand `arg`.
bool MayReplace(const Plan& plan, const Step& step, int arg, int result);

// An error if two temporaries that live at the same time overlap without being a legal in-place
// pair, or if one leaves the arena. Independent of the code that makes layouts. `bytes` is by
// buffer.
absl::Status CheckLayout(const Plan& plan, const MemoryLayout& layout,
                         absl::Span<const std::pair<int, int>> in_place,
                         absl::Span<const int64_t> bytes);

// The layouts of a plan, found once for each assignment of sizes. Thread-safe.
class ArenaPlanner {
 public:
  // `plan` outlives it.
  explicit ArenaPlanner(const Plan& plan) : plan_(plan), memory_(plan) {}

  using ValueOf = absl::FunctionRef<std::optional<int64_t>(SymInt)>;
  // Requires values for all symbols in the sizes of temporaries. The layout is checked.
  absl::StatusOr<std::shared_ptr<const MemoryLayout>> Find(ValueOf value_of);
  const MemoryPlan& memory() const { return memory_; }
  int64_t num_layouts() const;

 private:
  static constexpr size_t kMaxLayouts = 4096;

  const Plan& plan_;
  const MemoryPlan memory_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::vector<int64_t>, std::shared_ptr<const MemoryLayout>> layouts_
      ABSL_GUARDED_BY(mu_);
};

// A time interval and its bytes, as input of PlaceIntervals.
struct MemoryInterval {
  int first = 0;
  int last = 0;
  int64_t bytes = 0;  // A multiple of the alignment.
};
// The most bytes alive at one time.
int64_t LiveBytes(absl::Span<const MemoryInterval> intervals);
// Offsets of the intervals, and the total size.
std::vector<int64_t> PlaceIntervals(absl::Span<const MemoryInterval> intervals, int64_t* total);

}  // namespace weft

#endif  // WEFT_LOWERING_MEMORY_PLAN_H_
