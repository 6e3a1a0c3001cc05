#include "backends/runtime/plan_runner.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/device_span.h"
#include "backends/runtime/step_names.h"
#include "base/annotate.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "profiler/record.h"

namespace weft {
namespace {

// HostTensor::is_contiguous without its allocations.
bool IsDense(const HostTensor& tensor) {
  if (DTypeBits(tensor.dtype()) < 8) return tensor.is_contiguous();
  int64_t stride = 1;
  for (int i = tensor.rank() - 1; i >= 0; --i) {
    if (tensor.dim(i) != 1 && tensor.strides()[i] != stride) return tensor.numel() <= 1;
    stride *= tensor.dim(i);
  }
  return true;
}

// True if the caller's tensor is on the device, and the only one on its memory.
bool IsSole(const DeviceTensor* tensor) {
  return tensor != nullptr && tensor->memory().use_count() == 1;
}

// At the end of a run, forgets the buffers that it watched; nested runs end first.
class WatchScope {
 public:
  explicit WatchScope(MemoryGuard* guard)
      : guard_(guard), before_(guard == nullptr ? 0 : guard->size()) {}
  ~WatchScope() {
    if (guard_ != nullptr) guard_->Truncate(before_);
  }
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  MemoryGuard* const guard_;
  const size_t before_;
};

}  // namespace

absl::Status PlanRunner::Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                             std::vector<HostTensor>* outputs) {
  donated_ = &donated;
  former_pending_ = std::exchange(pending_, false);
  ++runtime_.runs;
  runtime_.stats.in_place_writes = 0;
  const absl::Status status = RunNested(inputs, nullptr, outputs);
  donated_ = nullptr;
  return status;
}

absl::Status PlanRunner::RunNested(absl::Span<const HostTensor> inputs, const SymbolEnv* outer,
                                   std::vector<HostTensor>* outputs) {
  run_inputs_.assign(inputs.begin(), inputs.end());
  return RunAll(run_inputs_, inputs, outer, outputs);
}

absl::Status PlanRunner::RunAll(absl::Span<const RunInput> inputs,
                                absl::Span<const HostTensor> observed, const SymbolEnv* outer,
                                std::vector<HostTensor>* outputs) {
  const WatchScope watched(runtime_.guard.get());
  const bool recorded = profiler::IsRecording(profiler::Activity::kCpuOp);
  const DeviceSpan span(runtime_.device, recorded ? profiler::InternName(plan_.name) : 0, 0);
  WEFT_RETURN_IF_ERROR(FindAssignment(inputs, outer));
  if (current_->dynamic) {
    dynamic_env_ = current_->env;
  } else {
    dynamic_env_.reset();
  }
  outputs->resize(plan_.outputs.size());
  WEFT_RETURN_IF_ERROR(SetBases(inputs, outputs));
  if (runtime_.guard != nullptr) WatchBuffers();
  StepObserver* const observer = runtime_.observer;
  if (observer != nullptr) WEFT_RETURN_IF_ERROR(observer->BeginRun(plan_, observed, env()));
  absl::Status status = RunSteps();
  for (size_t i = 0; i < outputs->size() && status.ok(); ++i) {
    const int n = static_cast<int>(i);
    status = kept_ == nullptr ? FinishOutput(n, &(*outputs)[i]) : FinishKept(n);
  }
  if (status.ok() && !nested_) status = runtime_.launcher.EndRun();
  // Submitted work uses the inputs and outputs, so it is waited for even if a step failed; behind a
  // nested plan on the device only if its memory could not be freed before. Behind a pending run
  // the caller does.
  const bool in_order = kept_ != nullptr && runtime_.device.frees_in_order();
  if (!(nested_ ? in_order : pending_ && status.ok())) {
    pending_ = false;
    const absl::Status end = runtime_.device.Wait();
    if (status.ok()) status = end;
  }
  if (observer != nullptr && status.ok()) status = observer->EndRun(plan_, *outputs);
  for (HostTensor& tensor : tensors_) {
    if (tensor.valid()) tensor = HostTensor();
  }
  for (std::unique_ptr<DeviceMemory>& memory : apart_) memory = nullptr;
  return status;
}

// True if the donor's memory exists, is large enough, and has no other user.
bool PlanRunner::IsInPlace(int i, absl::Span<const RunInput> inputs) const {
  const int donor = donors_[i];
  if (donated_ == nullptr || donor < 0 || donated_->size() != inputs.size() ||
      !(*donated_)[donor] || !current_->output_dims[i]) {
    return false;
  }
  const RunInput& input = inputs[donor];
  if (input.numel() == 0 || input.dtype() != plan_.outputs[i].dtype() ||
      input.dims() != absl::MakeConstSpan(*current_->output_dims[i])) {
    return false;
  }
  if (!host_visible_) return kept_ != nullptr && IsSole(input.device());
  const HostTensor& tensor = *input.host();
  return IsDense(tensor) && IsOwned(*tensor.buffer()) && runtime_.IsSole(tensor.buffer());
}

absl::Status PlanRunner::SetBases(absl::Span<const RunInput> inputs,
                                  std::vector<HostTensor>* outputs) {
  if (current_->arena_bytes > arena_.size()) {
    ++runtime_.stats.allocations;
    runtime_.stats.arena_bytes -= arena_.size();
    const absl::Status reserved =
        arena_.Reserve(current_->arena_bytes, profiler::MemoryCategory::kActivation);
    if (!reserved.ok()) {
      return Annotate(reserved, absl::StrCat("memory of @", plan_.name, " for these sizes, ",
                                             current_->arena_bytes, " bytes"));
    }
    runtime_.stats.arena_bytes += arena_.size();
  }
  bounds_.assign(plan_.buffers.size(), kUnbounded);
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    base_[b] = constants_[b];
    const int64_t offset = current_->places[b];
    if (offset >= 0) base_[b] = arena_.data() + offset;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!plan_.input_views[i].present()) continue;
    WEFT_RETURN_IF_ERROR(SetInput(static_cast<int>(i), inputs[i]));
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const int n = static_cast<int>(i);
    in_place_[i] = IsInPlace(n, inputs);
    if (in_place_[i]) {
      base_[plan_.output_views[i].buffer] = base_[plan_.input_views[donors_[i]].buffer];
      (*outputs)[i] = HostTensor();
      if (kept_ != nullptr) (*kept_)[i] = *inputs[donors_[i]].device();
      ++runtime_.stats.in_place_writes;
      continue;
    }
    WEFT_RETURN_IF_ERROR(kept_ == nullptr ? SetOutput(n, &(*outputs)[i]) : SetKept(n));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::SetInput(int i, const RunInput& input) {
  // Vector code may touch a cache line of a tensor without elements.
  static char nothing[64] = {};
  if (input.device() != nullptr) {
    base_[plan_.input_views[i].buffer] = input.device()->device_address();
    return absl::OkStatus();
  }
  const HostTensor& given = *input.host();
  if (runtime_.guard != nullptr) return GuardInput(i, given);
  const HostTensor* tensor = &given;
  if (!IsDense(given)) {
    dense_[i] = given.Contiguous();
    tensor = &dense_[i];
  }
  const int buffer = plan_.input_views[i].buffer;
  if (host_visible_) {
    base_[buffer] = tensor->numel() == 0 ? nothing : reinterpret_cast<char*>(tensor->raw());
    return absl::OkStatus();
  }
  // An unused input may have any size.
  if (!plan_.inputs[i].read || tensor->numel() == 0) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(Ensure(buffer));
  // Without a wait at the end, the tensor has to be read by then.
  const bool waits = kept_ == nullptr || (!nested_ && !pending_);
  Device& device = runtime_.device;
  return Annotate(waits ? device.CopyInLater(base_[buffer], tensor->raw(), tensor->bytes())
                        : device.CopyIn(base_[buffer], tensor->raw(), tensor->bytes()),
                  InputName(i));
}

// Sets the memory of an output whose dims are known: the caller's tensor if it fits.
absl::Status PlanRunner::SetOutput(int i, HostTensor* output) {
  const auto& dims = current_->output_dims[i];
  if (!dims) {
    *output = HostTensor();
    return absl::OkStatus();
  }
  const DType dtype = plan_.outputs[i].dtype();
  const bool fits = runtime_.guard == nullptr && output->valid() && output->dtype() == dtype &&
                    output->dims() == absl::MakeConstSpan(*dims) && IsDense(*output);
  if (!fits) {
    const std::optional<int64_t> numel = CheckedNumel(*dims);
    std::shared_ptr<HostBuffer> buffer =
        numel ? runtime_.NewBuffer(DTypeBytes(dtype, *numel)) : nullptr;
    if (buffer == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("output ", i, ": no memory"));
    }
    WEFT_ASSIGN_OR_RETURN(*output, HostTensor::View(std::move(buffer), dtype, *dims));
  }
  if (host_visible_ && IsDirect(i)) {
    base_[plan_.output_views[i].buffer] = reinterpret_cast<char*>(output->raw());
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::Ensure(int b) {
  if (base_[b] != nullptr) return absl::OkStatus();
  const Buffer& buffer = plan_.buffers[b];
  WEFT_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(b, env()));
  const std::optional<int64_t> numel = env().Eval(buffer.numel);
  if (bytes < 0 || !numel) {
    return absl::InternalError(absl::StrCat("buffer %", buffer.name, " has no size"));
  }
  if (!host_visible_) {
    auto memory = runtime_.device.Allocate(bytes, profiler::MemoryCategory::kActivation);
    if (!memory.ok()) return Annotate(memory.status(), absl::StrCat("buffer %", buffer.name));
    apart_[b] = *std::move(memory);
    base_[b] = apart_[b]->data();
    return absl::OkStatus();
  }
  std::shared_ptr<HostBuffer> made = runtime_.NewBuffer(bytes);
  if (made == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("buffer %", buffer.name, ": no memory"));
  }
  base_[b] = reinterpret_cast<char*>(made->data());
  if (runtime_.guard != nullptr) WatchBuffer(b, bytes, /*poison=*/true);
  WEFT_ASSIGN_OR_RETURN(tensors_[b], HostTensor::View(std::move(made), buffer.dtype, {*numel}));
  return absl::OkStatus();
}

absl::Status PlanRunner::RunSteps() {
  WEFT_RETURN_IF_ERROR(BeginRecorded());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (checks_before_[i] && kept_ != nullptr) WEFT_RETURN_IF_ERROR(CheckBeforeWrites());
    if (Segment* segment = SegmentAt(i)) {
      WEFT_RETURN_IF_ERROR(RunSegment(*segment));
      i = segment->end - 1;
      continue;
    }
    const absl::Status status = CatchOutOfMemory([&] { return RunStep(plan_.steps[i], i); });
    if (!status.ok()) return Annotate(status, DescribeStep(plan_, plan_.steps[i]));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::RunStep(const Step& step, size_t index) {
  std::unique_ptr<PreparedStep> made;
  PreparedStep* prepared = current_->steps[index].get();
  if (prepared == nullptr) {
    if (!IsKnown(plan_, step, env())) {
      WEFT_RETURN_IF_ERROR(CheckSizes(step, env()));
      return absl::InternalError("a symbol has no value");
    }
    WEFT_ASSIGN_OR_RETURN(made, PrepareStep(step, env()));
    prepared = made.get();
  }
  if (prepared->code != nullptr) {
    WEFT_RETURN_IF_ERROR(prepared->code->Refresh(env()));
    WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(prepared->code->scratch_bytes()));
  }
  const bool observed = runtime_.observer != nullptr || runtime_.guard != nullptr;
  WEFT_RETURN_IF_ERROR(observed ? RunObserved(step, *prepared, index)
                                : RunPrepared(step, *prepared));
  // Step code that was made for this run alone is freed after it has run.
  return made == nullptr ? absl::OkStatus() : runtime_.device.Wait();
}

absl::Status PlanRunner::RunPrepared(const Step& step, PreparedStep& prepared) {
  for (const View& view : step.results) {
    if (view.present()) bounds_[view.buffer] = kUnbounded;
  }
  if (profiler::IsRecording(profiler::Activity::kCpuOp)) {
    DescribeForProfile(plan_, step, env(), runtime_.evaluator, &prepared);
  }
  const DeviceSpan span(runtime_.device, prepared.profile_name, prepared.profile_description.id());
  if (step.kind == StepKind::kControl) return RunControl(step, prepared);
  return prepared.code == nullptr ? EvaluateOnHost(step, prepared) : Launch(step, prepared);
}

absl::Status PlanRunner::Launch(const Step& step, PreparedStep& prepared) {
  size_t n = 0;
  for (const RunView& view : prepared.args) {
    prepared.bounds[n] = view.present() ? bounds_[view.buffer] : kUnbounded;
    prepared.memory[n++] = view.present() ? At(view) : nullptr;
  }
  if (step.finds_sizes) {
    const absl::Status found = FindSizes(step, prepared);
    if (!absl::IsUnimplemented(found)) {
      WEFT_RETURN_IF_ERROR(found);
    } else {
      ++runtime_.stats.fallbacks;
      return EvaluateOnHost(step, prepared);
    }
  }
  for (const RunView& view : prepared.results) {
    if (view.present()) WEFT_RETURN_IF_ERROR(Ensure(view.buffer));
    prepared.memory[n++] = view.present() ? At(view) : nullptr;
  }
  const auto all = absl::MakeConstSpan(prepared.memory);
  const size_t num_args = prepared.args.size();
  const absl::Status status =
      prepared.code->Launch({all.first(num_args), all.subspan(num_args), all, runtime_.scratch(),
                             absl::MakeConstSpan(prepared.bounds)});
  if (absl::IsUnimplemented(status)) {
    ++runtime_.stats.fallbacks;
    return EvaluateOnHost(step, prepared);
  }
  // The bound is valid if this step wrote the whole buffer; other writes reset it.
  if (prepared.fills_buffer) {
    bounds_[prepared.results[0].buffer] = prepared.code->result_bound();
  }
  return status;
}

absl::Status PlanRunner::FindSizes(const Step& step, PreparedStep& prepared) {
  const auto args = absl::MakeConstSpan(prepared.memory).first(prepared.args.size());
  std::vector<std::vector<int64_t>> dims(step.results.size());
  WEFT_RETURN_IF_ERROR(prepared.code->FindSizes(
      {args, {}, args, runtime_.scratch(), absl::MakeConstSpan(prepared.bounds)}, &dims));
  if (dims.size() != step.results.size()) return absl::InternalError("a result has no sizes");
  prepared.results.clear();
  for (size_t i = 0; i < step.results.size(); ++i) {
    const View& view = step.results[i];
    prepared.results.emplace_back();
    if (!view.present()) continue;
    WEFT_RETURN_IF_ERROR(CheckResult(step, i, dynamic_env_->Unify(view.type, dims[i])));
    if (!IsKnown(view, env())) return absl::InternalError("a result's size has no value");
    prepared.results.back() = MakeRunView(view, env());
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::FinishOutput(int i, HostTensor* output) {
  if (in_place_[i]) return absl::OkStatus();
  const View& view = plan_.output_views[i];
  if (view.type.is_symint()) {
    const std::optional<int64_t> value = env().Eval(view.type.symint());
    if (!value) return absl::InternalError(absl::StrCat("output ", i, " has no value"));
    *output = HostTensor::ScalarInt(DType::kI64, *value);
    return absl::OkStatus();
  }
  if (output->valid() && host_visible_) {
    if (IsDirect(i)) return absl::OkStatus();
    PreparedStep* copy = current_->output_copies[i].get();
    if (copy != nullptr) return LaunchCopy(*copy, At(copy->args[0]), output->raw());
  }
  if (!IsKnown(view, env())) return absl::InternalError(absl::StrCat("output ", i, " has no size"));
  const RunView from = MakeRunView(view, env());
  WEFT_RETURN_IF_ERROR(Ensure(from.buffer));
  const bool copied = IsDirect(i) || from.dense() || current_->output_copies[i] != nullptr;
  if (!host_visible_ && output->valid() && DTypeBits(from.dtype) >= 8 && copied) {
    return CopyOutput(i, from, output);
  }
  // An output with its own buffer is handed out, others are copied.
  if (IsDirect(i) && tensors_[from.buffer].valid()) {
    const HostTensor& held = tensors_[from.buffer];
    WEFT_ASSIGN_OR_RETURN(
        *output, HostTensor::View(held.buffer(), from.dtype, from.dims, {}, held.offset()));
    return absl::OkStatus();
  }
  WEFT_ASSIGN_OR_RETURN(const HostTensor seen, Read(from));
  const HostTensor dense = seen.Contiguous();
  *output = HostTensor(from.dtype, from.dims);
  std::memcpy(output->raw(), dense.raw(), dense.bytes());
  return absl::OkStatus();
}

absl::Status PlanRunner::CopyOutput(int i, const RunView& from, HostTensor* output) {
  if (output->numel() == 0) return absl::OkStatus();
  const char* dense = At(from);
  if (PreparedStep* copy = current_->output_copies[i].get()) {
    char* const place = arena_.data() + current_->output_places[i];
    WEFT_RETURN_IF_ERROR(LaunchCopy(*copy, At(from), place));
    dense = place;
  }
  return runtime_.device.CopyOutLater(output->raw(), dense, output->bytes());
}

}  // namespace weft
