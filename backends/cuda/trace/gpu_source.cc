#include "backends/cuda/trace/gpu_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cuda/trace/cupti_recorder.h"
#include "backends/cuda/trace/gpu_timeline.h"
#include "base/log.h"
#include "profiler/json_text.h"

namespace weft::cuda {
namespace {

LogArtifact profile_log("cuda_profile", "how the work of GPUs is recorded for traces");

}  // namespace

const std::shared_ptr<GpuSource>& GpuSource::Get() {
  static const auto& source = *new std::shared_ptr<GpuSource>(new GpuSource);
  return source;
}

absl::Status GpuSource::Start(profiler::ActivityMask activities) {
  const absl::MutexLock lock(&mutex_);
  devices_.clear();
  timed_.clear();
  cupti_path_.clear();
  reason_.clear();
  how_ = {};
  recording_ = (activities & profiler::MaskOf(profiler::Activity::kKernel)) != 0;
  if (!recording_) return absl::OkStatus();
  for (GpuTimeline* timeline : timelines_) StartTimeline(timeline);
  return absl::OkStatus();
}

void GpuSource::StartTimeline(GpuTimeline* timeline) {
  devices_[timeline->limits_.ordinal] = timeline->limits_;
  const Libraries& libraries = timeline->libraries_;
  how_.emulated = libraries.emulation.present();
  absl::Status status = absl::OkStatus();
  if (timeline->cupti_ != "none") {
    const absl::StatusOr<const CuptiLibrary*> cupti = OpenCupti(libraries, timeline->cupti_);
    status = cupti.ok() ? CuptiRecorder::Get().Start(**cupti) : cupti.status();
    if (status.ok()) {
      cupti_path_ = (*cupti)->path;
      Log(profile_log, absl::StrCat("the GPU's work is recorded by ", cupti_path_));
      timeline->mode_ = GpuTimeline::Mode::kCupti;
      return;
    }
  }
  reason_ = status.ok() ? "CUPTI is turned off" : std::string(status.message());
  how_.by_events = true;
  Log(profile_log, absl::StrCat("the GPU's work is timed by events: ", reason_));
  timeline->mode_ = GpuTimeline::Mode::kEvents;
}

void GpuSource::StopTimeline(GpuTimeline* timeline) {
  const GpuTimeline::Mode mode = timeline->mode_.exchange(GpuTimeline::Mode::kOff);
  if (mode != GpuTimeline::Mode::kEvents) return;
  timeline->libraries_.driver.context_set_current(timeline->context_);
  timeline->TakeTimed(&timed_);
}

void GpuSource::Add(GpuTimeline* timeline) {
  const absl::MutexLock lock(&mutex_);
  timelines_.push_back(timeline);
  if (recording_) StartTimeline(timeline);
}

void GpuSource::Remove(GpuTimeline* timeline) {
  const absl::MutexLock lock(&mutex_);
  timelines_.erase(std::find(timelines_.begin(), timelines_.end(), timeline));
  StopTimeline(timeline);
}

std::string GpuSource::Report() const {
  std::string text = "{\"recorded_by\": ";
  profiler::AppendJsonString(how_.by_events ? "events" : cupti_path_, &text);
  if (!reason_.empty()) {
    text.append(", \"reason\": ");
    profiler::AppendJsonString(reason_, &text);
  }
  if (!cupti_path_.empty()) absl::StrAppend(&text, ", \"cupti\": ", CuptiRecorder::Get().Report());
  return text + "}";
}

absl::Status GpuSource::Stop(profiler::SourceEvents* events) {
  const absl::MutexLock lock(&mutex_);
  recording_ = false;
  for (GpuTimeline* timeline : timelines_) StopTimeline(timeline);
  std::vector<GpuActivity> activities;
  const absl::Status status = CuptiRecorder::Get().Stop(&activities);
  activities.insert(activities.end(), timed_.begin(), timed_.end());
  timed_.clear();
  if (events == nullptr || devices_.empty()) return status;
  RelateActivities(&activities);
  std::vector<DeviceLimits> devices;
  for (const auto& [ordinal, limits] : devices_) devices.push_back(limits);
  AddToTrace(devices, activities, how_, events);
  const std::string report = Report();
  Log(profile_log, report);
  events->AddMetadataJson("cuda_profiler", report);
  return status;
}

}  // namespace weft::cuda
