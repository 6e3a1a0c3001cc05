#include "lowering/kernel_schedule.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

std::string NestText(const NestSchedule& nest) {
  std::string text = "nest loop=";
  if (nest.lane_loop < 0) {
    absl::StrAppend(&text, "none");
  } else {
    absl::StrAppend(&text, nest.lane_loop);
  }
  absl::StrAppend(&text, " reduction=", ReductionOrderName(nest.reduction), " tile=", nest.tile);
  if (nest.reduction != ReductionOrder::kNone) absl::StrAppend(&text, " block=", nest.block);
  absl::StrAppend(&text, " unroll=[", absl::StrJoin(nest.unroll, ", "), "]");
  if (nest.prefetch.empty()) return text;
  const auto load = [](std::string* out, ScheduledLoad l) {
    absl::StrAppend(out, l.stage, ":", l.instr);
  };
  absl::StrAppend(&text, " prefetch=[", absl::StrJoin(nest.prefetch, ", ", load),
                  "] stage=", nest.prefetch_stage, " bytes=", nest.prefetch_bytes);
  return text;
}

}  // namespace

const char* ReductionOrderName(ReductionOrder order) {
  switch (order) {
    case ReductionOrder::kSerial:
      return "serial";
    case ReductionOrder::kLanes:
      return "lanes";
    default:
      return "none";
  }
}

std::string ToString(const KernelSchedule& schedule) {
  std::string text = absl::StrCat("schedule lanes=", schedule.lanes, " {\n");
  for (const NestSchedule& nest : schedule.nests) {
    absl::StrAppend(&text, "  ", NestText(nest), "\n");
  }
  return text + "}\n";
}

}  // namespace weft
