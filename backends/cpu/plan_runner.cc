#include "backends/cpu/plan_runner.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/library/magnitude.h"
#include "backends/cpu/runtime/thread_scope.h"
#include "backends/cpu/step_profile.h"
#include "base/annotate.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "profiler/record.h"

namespace weft::cpu {
namespace {

// As HostTensor::is_contiguous, which allocates.
bool IsDense(const HostTensor& tensor) {
  if (DTypeBits(tensor.dtype()) < 8) return tensor.is_contiguous();
  int64_t stride = 1;
  for (int i = tensor.rank() - 1; i >= 0; --i) {
    if (tensor.dim(i) != 1 && tensor.strides()[i] != stride) return tensor.numel() <= 1;
    stride *= tensor.dim(i);
  }
  return true;
}

// What a run has watched is forgotten when it ends, of its nested runs first.
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

absl::Status PlanRunner::Run(absl::Span<const HostTensor> inputs, const SymbolEnv* outer,
                             std::vector<HostTensor>* outputs) {
  const WatchScope watched(runtime_.guard.get());
  const profiler::Scope scope(profiler::Activity::kCpuOp, plan_.name);
  WEFT_RETURN_IF_ERROR(CheckInputs(inputs));
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
  if (observer != nullptr) WEFT_RETURN_IF_ERROR(observer->BeginRun(plan_, inputs, env()));
  WEFT_RETURN_IF_ERROR(RunSteps());
  absl::Status status = FinishOutputs(outputs);
  if (observer != nullptr && status.ok()) status = observer->EndRun(plan_, *outputs);
  for (HostTensor& tensor : tensors_) {
    if (tensor.valid()) tensor = HostTensor();
  }
  return status;
}

absl::Status PlanRunner::Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                             std::vector<HostTensor>* outputs) {
  donated_ = &donated;
  runtime_.stats.in_place_writes = 0;
  const absl::Status status = Run(inputs, nullptr, outputs);
  donated_ = nullptr;
  return status;
}

// The memory of the input is there, large enough, and nobody else's.
bool PlanRunner::IsInPlace(int i, absl::Span<const HostTensor> inputs) const {
  const int donor = donors_[i];
  if (donated_ == nullptr || donor < 0 || donated_->size() != inputs.size() ||
      !(*donated_)[donor] || !current_->output_dims[i]) {
    return false;
  }
  const HostTensor& tensor = inputs[donor];
  return tensor.numel() > 0 && tensor.dtype() == plan_.outputs[i].dtype() &&
         tensor.dims() == absl::MakeConstSpan(*current_->output_dims[i]) && IsDense(tensor) &&
         IsOwned(*tensor.buffer()) && runtime_.pool.IsSole(tensor.buffer());
}

absl::Status PlanRunner::SetBases(absl::Span<const HostTensor> inputs,
                                  std::vector<HostTensor>* outputs) {
  if (current_->arena_bytes > arena_.size()) {
    ++runtime_.stats.allocations;
    runtime_.stats.arena_bytes -= arena_.size();
    WEFT_RETURN_IF_ERROR(
        arena_.Reserve(current_->arena_bytes, profiler::MemoryCategory::kActivation));
    runtime_.stats.arena_bytes += arena_.size();
  }
  bounds_.assign(plan_.buffers.size(), kUnbounded);
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    base_[b] = constants_[b];
    const int64_t offset = current_->places[b];
    if (offset >= 0) base_[b] = arena_.data() + offset;
  }
  // Vector code may touch a line of a tensor without elements.
  static char nothing[64] = {};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const View& view = plan_.input_views[i];
    if (!view.present()) continue;
    const HostTensor* tensor = &inputs[i];
    if (runtime_.guard != nullptr) {
      WEFT_RETURN_IF_ERROR(GuardInput(static_cast<int>(i), *tensor));
      continue;
    }
    if (!IsDense(*tensor)) {
      dense_[i] = tensor->Contiguous();
      tensor = &dense_[i];
    }
    base_[view.buffer] = tensor->numel() == 0 ? nothing : reinterpret_cast<char*>(tensor->raw());
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const int n = static_cast<int>(i);
    in_place_[i] = IsInPlace(n, inputs);
    if (in_place_[i]) {
      base_[plan_.output_views[i].buffer] = base_[plan_.input_views[donors_[i]].buffer];
      (*outputs)[i] = HostTensor();
      ++runtime_.stats.in_place_writes;
      continue;
    }
    WEFT_RETURN_IF_ERROR(SetOutput(n, &(*outputs)[i]));
  }
  return absl::OkStatus();
}

// Memory of an output whose dims are known: the caller's where it fits.
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
  if (IsDirect(i)) base_[plan_.output_views[i].buffer] = reinterpret_cast<char*>(output->raw());
  return absl::OkStatus();
}

absl::Status PlanRunner::Ensure(int b) {
  if (base_[b] != nullptr) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(b, env()));
  const std::optional<int64_t> numel = env().Eval(plan_.buffers[b].numel);
  if (bytes < 0 || !numel) {
    return absl::InternalError(absl::StrCat("buffer %", plan_.buffers[b].name, " has no size"));
  }
  std::shared_ptr<HostBuffer> buffer = runtime_.NewBuffer(bytes);
  if (buffer == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("buffer %", plan_.buffers[b].name, ": no memory"));
  }
  base_[b] = reinterpret_cast<char*>(buffer->data());
  if (runtime_.guard != nullptr) WatchBuffer(b, bytes, /*poison=*/true);
  WEFT_ASSIGN_OR_RETURN(tensors_[b],
                        HostTensor::View(std::move(buffer), plan_.buffers[b].dtype, {*numel}));
  return absl::OkStatus();
}

absl::Status PlanRunner::RunSteps() {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const absl::Status status = CatchOutOfMemory([&] { return RunStep(plan_.steps[i], i); });
    if (!status.ok()) return Annotate(status, Describe(plan_, plan_.steps[i]));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::RunStep(const Step& step, size_t index) {
  const bool observed = runtime_.observer != nullptr || runtime_.guard != nullptr;
  const auto run = [&](StepCode& code) {
    return observed ? RunObserved(step, code, index) : RunCode(step, code, index);
  };
  if (current_->steps[index] != nullptr) return run(*current_->steps[index]);
  if (!IsKnown(plan_, step, env())) {
    WEFT_RETURN_IF_ERROR(CheckSizes(step, env()));
    return absl::InternalError("a symbol has no value");
  }
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<StepCode> code,
                        CompileStep(plan_, step, env(), planner_.memory(), constants_, runtime_));
  WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(code->scratch_bytes));
  return run(*code);
}

absl::Status PlanRunner::RunCode(const Step& step, StepCode& code, size_t index) {
  for (const View& view : step.results) {
    if (view.present()) bounds_[view.buffer] = kUnbounded;
  }
  if (step.kind == StepKind::kKernel) {
    WEFT_RETURN_IF_ERROR(UseGenerated(plan_.kernels[step.kernel], env(), runtime_, &code));
  }
  if (profiler::IsRecording(profiler::Activity::kCpuOp)) {
    const bool library = step.kind == StepKind::kLibrary;
    DescribeForProfile(plan_, step, env(), library ? runtime_.DnnThreads(code) : runtime_.threads,
                       &code);
  }
  const profiler::Scope scope(profiler::Activity::kCpuOp, code.profile_name,
                              code.profile_description.id());
  if (code.program == nullptr && code.call == nullptr && code.generated == nullptr) {
    return RunReference(step, code);
  }
  size_t n = 0;
  for (const RunView& view : code.args) {
    code.memory[n++] = view.present() ? At(view) : nullptr;
  }
  for (const RunView& view : code.results) {
    if (view.present()) WEFT_RETURN_IF_ERROR(Ensure(view.buffer));
    code.memory[n++] = view.present() ? At(view) : nullptr;
  }
  if (code.generated != nullptr) {
    return RunGenerated(*code.generated, code.memory.data(), runtime_.ScratchData(),
                        runtime_.threads, plan_.kernels[step.kernel].name);
  }
  if (code.program != nullptr) return RunProgram(code);
  return RunCall(step, code);
}

absl::Status PlanRunner::RunCall(const Step& step, StepCode& code) {
  const size_t num_args = code.args.size();
  for (size_t i = 0; i < num_args; ++i) {
    code.bounds[i] = code.args[i].present() ? bounds_[code.args[i].buffer] : kUnbounded;
  }
  const ThreadScope threads(runtime_.DnnThreads(code));
  const absl::Status status =
      code.call->Run({absl::MakeConstSpan(code.memory).first(num_args), code.memory[num_args],
                      runtime_.ScratchData(), code.bounds});
  if (absl::IsUnimplemented(status)) {
    ++runtime_.stats.fallbacks;
    return RunReference(step, code);
  }
  // Other steps that write the buffer take the bound away again.
  if (code.fills_buffer) bounds_[code.results[0].buffer] = code.call->result_bound();
  return status;
}

absl::Status PlanRunner::RunProgram(StepCode& code) {
  return RunTiles(*code.program, code.memory.data(), runtime_.ScratchData(), runtime_.threads);
}

absl::Status PlanRunner::FinishOutputs(std::vector<HostTensor>* outputs) {
  for (size_t i = 0; i < outputs->size(); ++i) {
    WEFT_RETURN_IF_ERROR(FinishOutput(static_cast<int>(i), &(*outputs)[i]));
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
  if (output->valid()) {
    StepCode* copy = current_->output_copies[i].get();
    if (IsDirect(i)) return absl::OkStatus();
    if (copy != nullptr) {
      copy->memory[0] = At(copy->args[0]);
      copy->memory[1] = output->raw();
      return RunProgram(*copy);
    }
  }
  if (!IsKnown(view, env())) return absl::InternalError(absl::StrCat("output ", i, " has no size"));
  const RunView from = MakeRunView(view, env());
  WEFT_RETURN_IF_ERROR(Ensure(from.buffer));
  // A buffer of its own is handed out, others are copied.
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

}  // namespace weft::cpu
