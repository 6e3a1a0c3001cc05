#include "lowering/plan_memory_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "lowering/example_sizes.h"
#include "lowering/memory_plan.h"
#include "lowering/plan_constants.h"

namespace weft {
namespace {

struct Row {
  int64_t offset = 0;
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  std::string buffers;

  bool LivesAt(int step) const { return first <= step && step <= last; }
};

std::string NameOf(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::kKernel) return absl::StrCat("@", plan.kernels[step.kernel].name);
  return step.kind == StepKind::kCopy ? "copy" : step.op_name;
}

std::string PeakText(const Plan& plan, const std::vector<Row>& rows) {
  // The most bytes live at the first step of some row.
  int peak = 0;
  int64_t most = -1;
  std::vector<int64_t> change(plan.steps.size() + 2);
  for (const Row& row : rows) {
    change[std::max(row.first, 0)] += row.bytes;
    change[std::max(row.last, 0) + 1] -= row.bytes;
  }
  int64_t live = 0;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    live += change[step];
    if (live <= most) continue;
    most = live;
    peak = static_cast<int>(step);
  }
  std::vector<std::string> alive;
  for (const Row& row : rows) {
    if (row.LivesAt(peak)) alive.push_back(absl::StrCat(row.buffers, " ", row.bytes));
  }
  return absl::StrCat("// peak at step ", peak, ", ", Printable(NameOf(plan, plan.steps[peak])),
                      ": ", most, " bytes: ", absl::StrJoin(alive, ", "), "\n");
}

}  // namespace

absl::StatusOr<std::string> DescribeMemory(const Plan& plan) {
  const ExampleSizes sizes(plan);
  const auto value_of = [&](SymInt s) { return sizes.ValueOf(s); };
  ArenaPlanner planner(plan);
  WEFT_ASSIGN_OR_RETURN(const auto layout, planner.Find(value_of));
  std::vector<Row> rows;
  int64_t all_bytes = 0;
  for (const MemoryPlan::Slot& slot : planner.memory().slots()) {
    Row row;
    row.offset = layout->offsets[slot.buffers[0]];
    if (row.offset < 0) continue;
    row.bytes = DTypeBytes(slot.dtype, value_of(slot.numel).value_or(0));
    row.first = slot.first;
    row.last = slot.last;
    row.buffers = absl::StrJoin(slot.buffers, ", ", [&](std::string* out, int b) {
      absl::StrAppend(out, "%", Printable(plan.buffers[b].name));
    });
    all_bytes += row.bytes * static_cast<int64_t>(slot.buffers.size());
    rows.push_back(std::move(row));
  }
  int64_t constant_bytes = 0;
  if (plan.constants != nullptr) {
    for (const auto& [number, constant] : plan.constants->by_number) {
      constant_bytes += constant.tensor.bytes();
    }
  }
  std::string text =
      absl::StrCat("// memory", sizes.text(), ": arena ", layout->arena_bytes, " bytes (",
                   all_bytes, " without reuse), constants ", constant_bytes, "\n");
  if (rows.empty()) return text;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.offset < b.offset; });
  text += "//     offset      bytes  steps      buffers\n";
  for (const Row& row : rows) {
    absl::StrAppendFormat(&text, "// %10d %10d  %-9s  %s\n", row.offset, row.bytes,
                          absl::StrCat(row.first, "-", row.last), row.buffers);
  }
  return text + PeakText(plan, rows);
}

}  // namespace weft
