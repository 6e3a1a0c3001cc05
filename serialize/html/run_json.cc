#include "serialize/html/run_json.h"

#include "absl/strings/str_format.h"

namespace weft {
namespace {

void WriteKernels(const ModuleView& view, JsonWriter* out) {
  const auto& kernels = view.kernels;
  out->Object("kernels", [&] {
    out->TextColumn(
        "name", kernels.size(), [&](int i) -> auto& { return kernels[i].time.name; });
    out->TextColumn(
        "routine", kernels.size(), [&](int i) -> auto& { return kernels[i].time.routine; });
    out->Column("us", kernels.size(), [&](int i) {
      const double us = kernels[i].time.median_us;
      return view.shows_errors ? absl::StrFormat("%.9g", us) : absl::StrFormat("%.3f", us);
    });
    out->Column("calls", kernels.size(), [&](int i) { return kernels[i].time.calls; });
    out->Column("bytes", kernels.size(), [&](int i) { return kernels[i].time.bytes; });
    out->Column("flops", kernels.size(), [&](int i) { return kernels[i].time.flops; });
    out->Column("sources", kernels.size(), [&](int i) { return kernels[i].sources; });
  });
}

void WriteTimeline(const Timeline& timeline, JsonWriter* out) {
  out->Object("timeline", [&] {
    out->Texts("tracks", timeline.tracks);
    out->Texts("names", timeline.names);
    const auto& slices = timeline.slices;
    out->Column("track", slices.size(), [&](int i) { return slices[i].track; });
    out->Column("name", slices.size(), [&](int i) { return slices[i].name; });
    out->Column("kernel", slices.size(), [&](int i) { return slices[i].kernel; });
    out->Differences("begin", slices.size(), [&](int i) { return slices[i].begin_ns; });
    out->Column("duration", slices.size(), [&](int i) { return slices[i].duration_ns; });
    const auto& memory = timeline.memory;
    out->Differences("memoryTime", memory.size(), [&](int i) { return memory[i].time_ns; });
    out->Differences("memoryBytes", memory.size(), [&](int i) { return memory[i].bytes; });
    out->Texts("categories", timeline.categories);
    out->Column("memoryCategory", memory.size(), [&](int i) { return memory[i].category; });
    out->Number("leftOut", timeline.left_out);
  });
}

void WritePlan(const ModuleView& view, JsonWriter* out) {
  const auto& steps = view.steps;
  const auto& kernels = view.plan_kernels;
  out->Object("plan", [&] {
    out->TextColumn(
        "name", steps.size(), [&](int i) -> auto& { return steps[i].step.name; });
    out->TextColumn(
        "text", steps.size(), [&](int i) -> auto& { return steps[i].step.text; });
    out->Column("kernel", steps.size(), [&](int i) { return steps[i].step.kernel; });
    out->Column("control", steps.size(), [&](int i) { return steps[i].step.is_control ? 1 : 0; });
    out->Column("live", steps.size(), [&](int i) { return steps[i].step.live_bytes; });
    out->Text("sizes", view.plan_sizes);
    out->Column("sources", steps.size(), [&](int i) { return steps[i].sources; });
    out->Column("key", steps.size(), [&](int i) { return steps[i].key; });
    out->TextColumn(
        "kernelText", kernels.size(), [&](int i) -> auto& { return kernels[i].text; });
    out->TextColumn(
        "kernelCode", kernels.size(), [&](int i) -> auto& { return kernels[i].code; });
  });
}

}  // namespace

void WriteRun(const ModuleView& view, JsonWriter* out) {
  out->Flag("errors", view.shows_errors);
  out->Number("runs", view.runs);
  WriteKernels(view, out);
  WriteTimeline(view.timeline, out);
  WritePlan(view, out);
}

}  // namespace weft
