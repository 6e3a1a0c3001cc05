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
  int64_t num_buffers = 0;
  std::string buffers;

  bool LivesAt(int step) const { return first <= step && step <= last; }
};

std::string NameOf(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::kKernel) return absl::StrCat("@", plan.kernels[step.kernel].name);
  return step.kind == StepKind::kCopy ? "copy" : step.op_name;
}

std::vector<int64_t> LiveBytesOf(const Plan& plan, const std::vector<Row>& rows) {
  std::vector<int64_t> live(plan.steps.size() + 1);
  for (const Row& row : rows) {
    live[std::max(row.first, 0)] += row.bytes;
    const auto after = static_cast<size_t>(std::max(row.last, 0)) + 1;
    if (after < live.size()) live[after] -= row.bytes;
  }
  for (size_t step = 1; step < live.size(); ++step) live[step] += live[step - 1];
  live.resize(plan.steps.size());
  return live;
}

std::string PeakText(const Plan& plan, const std::vector<Row>& rows) {
  const std::vector<int64_t> live = LiveBytesOf(plan, rows);
  const auto most = std::max_element(live.begin(), live.end());
  const auto peak = static_cast<int>(most - live.begin());
  std::vector<std::string> alive;
  for (const Row& row : rows) {
    if (row.LivesAt(peak)) alive.push_back(absl::StrCat(row.buffers, " ", row.bytes));
  }
  return absl::StrCat("// peak at step ", peak, ", ", Printable(NameOf(plan, plan.steps[peak])),
                      ": ", *most, " bytes: ", absl::StrJoin(alive, ", "), "\n");
}

// A row for each slot, without its offset. Buffers whose sizes depend on data have no bytes.
std::vector<Row> RowsOf(const Plan& plan, const MemoryPlan& memory, const ExampleSizes& sizes) {
  std::vector<Row> rows;
  for (const MemoryPlan::Slot& slot : memory.slots()) {
    Row& row = rows.emplace_back();
    row.bytes = DTypeBytes(slot.dtype, sizes.ValueOf(slot.numel).value_or(0));
    row.first = slot.first;
    row.last = slot.last;
    row.num_buffers = static_cast<int64_t>(slot.buffers.size());
    row.buffers = absl::StrJoin(slot.buffers, ", ", [&](std::string* out, int b) {
      absl::StrAppend(out, "%", Printable(plan.buffers[b].name));
    });
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::string> DescribeMemory(const Plan& plan) {
  const ExampleSizes sizes(plan);
  ArenaPlanner planner(plan);
  WEFT_ASSIGN_OR_RETURN(const auto layout,
                        planner.Find([&](SymInt s) { return sizes.ValueOf(s); }));
  std::vector<Row> rows = RowsOf(plan, planner.memory(), sizes);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].offset = layout->offsets[planner.memory().slots()[i].buffers[0]];
  }
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const Row& r) { return r.offset < 0; }),
             rows.end());
  int64_t all_bytes = 0;
  for (const Row& row : rows) all_bytes += row.bytes * row.num_buffers;
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

LiveMemory LiveMemoryOf(const Plan& plan) {
  const ExampleSizes sizes(plan);
  return {LiveBytesOf(plan, RowsOf(plan, MemoryPlan(plan), sizes)), sizes.text()};
}

}  // namespace weft
