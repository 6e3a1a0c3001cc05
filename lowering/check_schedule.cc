#include "lowering/check_schedule.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft {
namespace {

template <typename... Pieces>
absl::Status Invalid(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

class ScheduleChecker {
 public:
  ScheduleChecker(const Nest& nest, const NestSchedule& schedule, int lanes)
      : nest_(nest),
        schedule_(schedule),
        lanes_(lanes),
        outer_(static_cast<int>(nest.outer.size())),
        loops_(static_cast<int>(nest.outer.size() + nest.inner.size())) {}

  absl::Status Run() const {
    const int loop = schedule_.lane_loop;
    if (loop < (loops_ > 0 ? 0 : -1) || loop >= loops_) {
      return Invalid("the lanes run along none of its ", loops_, " loops");
    }
    if (schedule_.tile < 1 || schedule_.tile > kMaxTile) {
      return Invalid("a tile has 1 to ", +kMaxTile, " elements");
    }
    WEFT_RETURN_IF_ERROR(CheckReductions());
    return CheckPrefetch();
  }

 private:
  bool rows() const { return schedule_.lane_loop >= outer_; }

  absl::Status CheckReductions() const {
    if (schedule_.unroll.size() != nest_.stages.size()) {
      return Invalid("there is one number of copies for each stage");
    }
    bool reduces = false;
    for (size_t s = 0; s < nest_.stages.size(); ++s) {
      const int unroll = schedule_.unroll[s];
      if (unroll < 1 || unroll > kMaxUnroll) {
        return Invalid("a stage has 1 to ", +kMaxUnroll, " copies");
      }
      if (unroll > 1 && !rows()) return Invalid("columns are not unrolled");
      if (rows() && schedule_.tile % (int64_t{lanes_} * unroll) != 0) {
        return Invalid("a tile is a multiple of the lanes of all copies");
      }
      for (const Reduction& r : nest_.stages[s].reductions) {
        reduces = true;
        const bool arg = r.op == ReduceOp::kArgMax || r.op == ReduceOp::kArgMin;
        if (arg && rows() && schedule_.lane_loop != loops_ - 1) {
          return Invalid("the lanes of positions run along the last loop");
        }
        if (arg && unroll > 1) return Invalid("a stage that looks for positions has one copy");
      }
    }
    if (schedule_.block < 1 || (rows() && reduces && schedule_.block % schedule_.tile != 0)) {
      return Invalid("a block of a sum is a multiple of the tile");
    }
    const ReductionOrder order = !reduces ? ReductionOrder::kNone
                                 : rows() ? ReductionOrder::kLanes
                                          : ReductionOrder::kSerial;
    if (schedule_.reduction == order) return absl::OkStatus();
    return Invalid("it reduces by ", ReductionOrderName(order), ", not by ",
                   ReductionOrderName(schedule_.reduction));
  }

  absl::Status CheckPrefetch() const {
    if (schedule_.prefetch.empty()) return absl::OkStatus();
    const int stages = static_cast<int>(nest_.stages.size());
    if (schedule_.prefetch_stage < 0 || schedule_.prefetch_stage >= stages) {
      return Invalid("no stage prefetches");
    }
    if (rows() ? outer_ == 0 || loops_ != outer_ + 1 : loops_ != outer_) {
      return Invalid("there is no next row to prefetch");
    }
    for (ScheduledLoad load : schedule_.prefetch) {
      if (load.stage < 0 || load.stage >= stages) return Invalid("there is no stage ", load.stage);
      const std::vector<Instr>& body = nest_.stages[load.stage].body;
      if (load.instr < 0 || load.instr >= static_cast<int>(body.size()) ||
          body[load.instr].op != ScalarOp::kLoad || !body[load.instr].access.terms.empty() ||
          !body[load.instr].access.guards.empty()) {
        return Invalid("%", load.instr, " of stage ", load.stage, " is not a plain load");
      }
    }
    return absl::OkStatus();
  }

  const Nest& nest_;
  const NestSchedule& schedule_;
  const int lanes_;
  const int outer_;
  const int loops_;
};

}  // namespace

absl::Status CheckSchedule(const Kernel& kernel) {
  const KernelSchedule& schedule = kernel.schedule;
  const auto invalid = [&](const auto&... pieces) {
    return Invalid("the schedule of kernel @", kernel.name, ": ", pieces...);
  };
  if (!IsPowerOfTwo(schedule.lanes) || schedule.lanes > kMaxLanes) {
    return invalid("lanes are a power of two, up to ", +kMaxLanes);
  }
  if (schedule.nests.size() != kernel.nests.size()) return invalid("it is for other nests");
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    const absl::Status status =
        ScheduleChecker(kernel.nests[n], schedule.nests[n], schedule.lanes).Run();
    if (!status.ok()) return invalid("nest ", n, ": ", status.message());
  }
  return absl::OkStatus();
}

}  // namespace weft
