// Where temporaries lie in one arena, for given sizes.
//
// A temporary lives from the first step that touches it to the last one. A
// kernel's result takes the place of an operand that dies there when every load
// of the operand reads just what the store at that point replaces. The result of a
// library step takes the place of the operand that its routine accumulates on
// (Step::accumulates).
// What lives at the same time lies apart. Plans of up to kMaxExact temporaries are
// searched for the least arena with a bounded number of steps; others are
// packed best-fit.
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
  // Bytes from the arena's start, by buffer; -1: not in the arena (inputs,
  // outputs, constants, dynamic buffers).
  std::vector<int64_t> offsets;
  int64_t arena_bytes = 0;
  // No layout with these in-place decisions takes less: the most that lives at
  // a time.
  int64_t lower_bound = 0;
};

// What is known about a plan's temporaries without sizes.
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
  // Buffer `to` is such a result, `from` its operand.
  bool Replaces(int from, int to) const;
  // `bytes` has the size of each slot.
  MemoryLayout Place(absl::Span<const int64_t> bytes) const;
  int num_buffers() const { return num_buffers_; }

 private:
  int num_buffers_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::pair<int, int>> in_place_;
  std::vector<int> replaced_;  // By buffer: whose place it takes; -1: none.
};

// True when result `result` of the step may lie where operand `arg` does.
bool MayReplace(const Plan& plan, const Step& step, int arg, int result);

// An error when two temporaries that live at the same time overlap and are no
// legal in-place pair, or one leaves the arena. Knows nothing of how the layout
// was made. `bytes` is by buffer.
absl::Status CheckLayout(const Plan& plan, const MemoryLayout& layout,
                         absl::Span<const std::pair<int, int>> in_place,
                         absl::Span<const int64_t> bytes);

// The layouts of a plan, found once for each assignment of sizes. Thread-safe.
class ArenaPlanner {
 public:
  // `plan` outlives it.
  explicit ArenaPlanner(const Plan& plan) : plan_(plan), memory_(plan) {}

  using ValueOf = absl::FunctionRef<std::optional<int64_t>(SymInt)>;
  // Symbols that a temporary's size mentions have values. The layout is
  // checked.
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

// An interval of time and the bytes it takes; what PlaceIntervals packs.
struct MemoryInterval {
  int first = 0;
  int last = 0;
  int64_t bytes = 0;  // A multiple of the alignment.
};
// The most bytes that live at a time.
int64_t LiveBytes(absl::Span<const MemoryInterval> intervals);
// Offsets; and what they come to.
std::vector<int64_t> PlaceIntervals(absl::Span<const MemoryInterval> intervals, int64_t* total);

}  // namespace weft

#endif  // WEFT_LOWERING_MEMORY_PLAN_H_
