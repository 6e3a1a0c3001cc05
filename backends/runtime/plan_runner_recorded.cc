// Runs of steps that the device has recorded.
//
// A segment is a sequence of steps with code whose memory is in the arena, constant, or that of
// inputs which are the same tensors on the device in every run. It runs step by step when its sizes
// are met first, and is recorded when they are met again; later runs submit the recording. A
// recording is made anew, from the old one, when the arena or the scratch memory has moved. When an
// input on the device is another tensor than before, the steps that use it leave the segments for
// good: those of a loop's body that read carried values and rows, or make them, are launched by
// themselves. For inputs of a body that moved between two runs of the outermost plan, recordings
// are made anew. Observed and profiled runs use no recordings.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/logs.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/step_names.h"
#include "base/annotate.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "profiler/record.h"

namespace weft {
namespace {

// A shorter segment gains nothing.
constexpr size_t kMinSteps = 2;
// In the place of a number of allocations: the recording is made anew.
constexpr int64_t kStale = -1;

}  // namespace

bool PlanRunner::HasPlace(const RunView& view, const Assignment& a) const {
  if (!view.present() || a.places[view.buffer] >= 0 || constants_[view.buffer] != nullptr) {
    return true;
  }
  return IsOnDevice(view.buffer, a) && !a.moved[view.buffer];
}

// True for a tensor on the device that may be the same one in every run: an input, or an output
// that may be stored in an input's memory or has memory of the caller. Other outputs have new
// memory in every run.
bool PlanRunner::IsOnDevice(int b, const Assignment& a) const {
  const Buffer& buffer = plan_.buffers[b];
  if (buffer.kind == BufferKind::kInput) return a.on_device[buffer.index];
  if (buffer.kind != BufferKind::kOutput || !a.keeps_outputs) return false;
  const auto output = static_cast<size_t>(buffer.index);
  return buffer.donor >= 0 || (output < a.bound.size() && a.bound[output]);
}

absl::Status PlanRunner::FindMoved(Assignment* a) {
  bool moved = false;
  bool anew = false;
  // In another run of the outermost plan, which may have other sizes, operands of the control flow
  // may lie elsewhere.
  const bool other_run = nested_ && a->last_run != runtime_.runs;
  a->last_run = runtime_.runs;
  for (size_t b = 0; b < base_.size(); ++b) {
    if (a->moved[b] || !IsOnDevice(static_cast<int>(b), *a)) continue;
    const bool differs = a->addresses[b] != nullptr && a->addresses[b] != base_[b];
    a->addresses[b] = base_[b];
    anew |= differs && other_run;
    a->moved[b] = differs && !other_run;
    moved |= a->moved[b];
  }
  if (anew) {
    a->runs = 0;
    for (Segment& segment : a->segments) segment.arena = kStale;
  }
  if (!moved) return absl::OkStatus();
  const bool recorded = std::any_of(a->segments.begin(), a->segments.end(),
                                    [](const Segment& s) { return s.recording != nullptr; });
  if (recorded) WEFT_RETURN_IF_ERROR(FinishReplays());
  a->segments.clear();
  a->runs = 0;
  FindSegments(a);
  return absl::OkStatus();
}

// Recordings live until the next Wait(). Runs of nested plans do not wait at their end, nor does a
// pending run.
absl::Status PlanRunner::FinishReplays() {
  if (!nested_ && !former_pending_) return absl::OkStatus();
  former_pending_ = false;
  return runtime_.device.Wait();
}

void PlanRunner::FindSegments(Assignment* a) const {
  const auto records = [&](const std::unique_ptr<PreparedStep>& step) {
    if (step == nullptr || step->code == nullptr || !step->code->recordable()) return false;
    const auto placed = [&](const RunView& view) { return HasPlace(view, *a); };
    return std::all_of(step->args.begin(), step->args.end(), placed) &&
           std::all_of(step->results.begin(), step->results.end(), placed);
  };
  if (a->arena_bytes == 0 && !a->keeps_outputs) return;
  for (size_t i = 0; i < a->steps.size();) {
    if (!records(a->steps[i])) {
      ++i;
      continue;
    }
    Segment segment;
    segment.begin = i;
    while (i < a->steps.size() && records(a->steps[i])) {
      ++i;
      // Errors are looked for before this step.
      if (a->keeps_outputs && i < a->steps.size() && checks_before_[i]) break;
    }
    segment.end = i;
    if (segment.end - segment.begin >= kMinSteps) a->segments.push_back(std::move(segment));
  }
}

absl::Status PlanRunner::BeginRecorded() {
  next_segment_ = 0;
  Assignment& a = *current_;
  replays_ = false;
  if (a.keeps_outputs && runtime_.device.records()) WEFT_RETURN_IF_ERROR(FindMoved(&a));
  if (a.segments.empty() || runtime_.observer != nullptr || runtime_.guard != nullptr ||
      runtime_.device.is_traced() || profiler::IsRecording(profiler::Activity::kCpuOp)) {
    return absl::OkStatus();
  }
  replays_ = ++a.runs > 1;
  if (!replays_) return absl::OkStatus();
  const auto known = std::find(recorded_.begin(), recorded_.end(), &a);
  if (known != recorded_.end()) {
    std::rotate(known, known + 1, recorded_.end());
    return absl::OkStatus();
  }
  const bool full = recorded_.size() >= PlanRuntime::kMaxRecorded;
  // The spare ones are dropped, and those of the oldest assignment change.
  if (full || !spare_.empty()) WEFT_RETURN_IF_ERROR(FinishReplays());
  spare_.clear();
  if (full) {
    Assignment& oldest = *recorded_.front();
    recorded_.erase(recorded_.begin());
    oldest.runs = 0;
    for (Segment& segment : oldest.segments) spare_.push_back(std::move(segment.recording));
  }
  recorded_.push_back(&a);
  return absl::OkStatus();
}

PlanRunner::Segment* PlanRunner::SegmentAt(size_t step) {
  if (!replays_) return nullptr;
  std::vector<Segment>& segments = current_->segments;
  while (next_segment_ < segments.size() && segments[next_segment_].begin < step) ++next_segment_;
  if (next_segment_ == segments.size()) return nullptr;
  Segment& segment = segments[next_segment_];
  if (segment.begin != step || segment.failed) return nullptr;
  const bool valid = segment.recording != nullptr && segment.arena == arena_.allocations() &&
                     segment.scratch == runtime_.scratch_allocations();
  if (valid) return &segment;
  const absl::Status status = CatchOutOfMemory([&] { return Record(segment); });
  if (status.ok()) return &segment;
  // The steps run one by one, which tells of the error if it remains.
  Log(executor_log, absl::StrCat("@", plan_.name, ": steps ", segment.begin, " to ",
                                 segment.end - 1, " are not recorded: ", status.message()));
  segment.recording = nullptr;
  segment.failed = true;
  return nullptr;
}

absl::Status PlanRunner::Record(Segment& segment) {
  if (segment.recording != nullptr || former_pending_) WEFT_RETURN_IF_ERROR(FinishReplays());
  std::unique_ptr<Recording> reuse = std::move(segment.recording);
  if (reuse == nullptr && next_segment_ < spare_.size()) reuse = std::move(spare_[next_segment_]);
  WEFT_RETURN_IF_ERROR(runtime_.device.BeginRecording());
  for (size_t i = segment.begin; i < segment.end; ++i) {
    const absl::Status status = Launch(plan_.steps[i], *current_->steps[i]);
    if (!status.ok()) {
      runtime_.device.DropRecording();
      return Annotate(status, DescribeStep(plan_, plan_.steps[i]));
    }
  }
  WEFT_ASSIGN_OR_RETURN(segment.recording, runtime_.device.EndRecording(std::move(reuse)));
  segment.arena = arena_.allocations();
  segment.scratch = runtime_.scratch_allocations();
  return absl::OkStatus();
}

absl::Status PlanRunner::RunSegment(Segment& segment) {
  for (size_t i = segment.begin; i < segment.end; ++i) {
    for (const RunView& view : current_->steps[i]->results) {
      if (view.present()) bounds_[view.buffer] = kUnbounded;
    }
  }
  return runtime_.device.Replay(*segment.recording);
}

}  // namespace weft
