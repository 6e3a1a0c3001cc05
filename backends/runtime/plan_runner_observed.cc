// Runs with an observer or with guarded memory.
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/plan_runner.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

std::string RoutineOf(const StepCode* code) {
  if (code == nullptr) return "evaluation";
  std::string routine = code->routine();
  return routine.empty() ? code->runner() : routine;
}

}  // namespace

absl::Status PlanRunner::RunObserved(const Step& step, PreparedStep& prepared, size_t index) {
  const int n = static_cast<int>(index);
  const StepCode* const code = prepared.code.get();
  MemoryGuard* const guard = runtime_.guard.get();
  if (guard != nullptr) WatchTemporaries(n);
  const int64_t scratch = code == nullptr ? 0 : code->scratch_bytes();
  const bool watched = guard != nullptr && scratch > 0;
  if (watched) guard->Watch("scratch", DType::kF32, runtime_.scratch(), scratch, true);
  const bool last = !nested_ && index + 1 == plan_.steps.size();
  const auto read = [this](const View& view) { return ReadKnown(view); };
  const auto check = [&] {
    if (guard == nullptr) return absl::OkStatus();
    return last ? guard->CheckAll() : guard->Check(Touched(step));
  };
  const double error = code == nullptr ? 0 : code->operand_error();
  const ObservedStep seen{plan_, n, env(), RoutineOf(code), error, read, check};
  StepObserver* const observer = runtime_.observer;
  if (observer != nullptr) WEFT_RETURN_IF_ERROR(observer->BeforeStep(seen));
  WEFT_RETURN_IF_ERROR(RunPrepared(step, prepared));
  WEFT_RETURN_IF_ERROR(runtime_.device.Wait());
  WEFT_RETURN_IF_ERROR(observer != nullptr ? observer->AfterStep(seen) : check());
  if (watched) guard->Forget(runtime_.scratch());
  return absl::OkStatus();
}

std::vector<const char*> PlanRunner::Touched(const Step& step) const {
  std::vector<const char*> touched = {runtime_.scratch()};
  for (const std::vector<View>* views : {&step.args, &step.results}) {
    for (const View& view : *views) {
      if (view.present()) touched.push_back(base_[view.buffer]);
    }
  }
  return touched;
}

void PlanRunner::AddZones(Assignment* a) {
  std::vector<int64_t> bytes;
  for (const MemoryPlan::Slot& slot : planner_.memory().slots()) {
    bytes.push_back(a->bytes[slot.buffers[0]] + 2 * MemoryGuard::kZone);
  }
  const MemoryLayout layout = planner_.memory().Place(bytes);
  a->places = layout.offsets;
  a->arena_bytes = layout.arena_bytes;
  for (int64_t& place : a->places) {
    if (place >= 0) place += MemoryGuard::kZone;
  }
}

absl::Status PlanRunner::GuardInput(int i, const HostTensor& tensor) {
  dense_[i] = MemoryGuard::Copy(tensor);
  if (!dense_[i].valid()) {
    return absl::ResourceExhaustedError(absl::StrCat(InputName(i), ": no memory for a copy"));
  }
  const int buffer = plan_.input_views[i].buffer;
  base_[buffer] = reinterpret_cast<char*>(dense_[i].raw());
  WatchBuffer(buffer, dense_[i].bytes(), /*poison=*/false);
  return absl::OkStatus();
}

void PlanRunner::WatchBuffer(int b, int64_t bytes, bool poison) {
  const Buffer& buffer = plan_.buffers[b];
  runtime_.guard->Watch(absl::StrCat("%", buffer.name), buffer.dtype, base_[b], bytes, poison);
}

void PlanRunner::WatchBuffers() {
  for (int b : guarded_) WatchBuffer(b, current_->bytes[b], /*poison=*/false);
  std::vector<bool> temporary(plan_.buffers.size(), false);
  for (const MemoryPlan::Slot& slot : planner_.memory().slots()) {
    for (int b : slot.buffers) temporary[b] = true;
  }
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const BufferKind kind = plan_.buffers[b].kind;
    const bool known = base_[b] != nullptr && current_->bytes[b] >= 0;
    if (!known || temporary[b] || kind == BufferKind::kInput || kind == BufferKind::kConstant) {
      continue;
    }
    WatchBuffer(static_cast<int>(b), current_->bytes[b], /*poison=*/true);
  }
}

void PlanRunner::WatchTemporaries(int step) {
  if (lives_.empty()) IndexLives();
  for (int b : lives_[step].ended) runtime_.guard->Forget(base_[b]);
  for (int b : lives_[step].begun) WatchBuffer(b, current_->bytes[b], /*poison=*/true);
}

void PlanRunner::IndexLives() {
  lives_.resize(plan_.steps.size() + 2);  // A life may end behind the last step.
  for (const MemoryPlan::Slot& slot : planner_.memory().slots()) {
    lives_[slot.first].begun.push_back(slot.buffers[0]);
    lives_[slot.last + 1].ended.push_back(slot.buffers[0]);
  }
}

absl::StatusOr<HostTensor> PlanRunner::ReadKnown(const View& view) {
  if (!IsKnown(view, env())) return absl::NotFoundError("its size has no value");
  return Read(MakeRunView(view, env()));
}

}  // namespace weft
