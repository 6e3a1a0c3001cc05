// Runs whose tensors stay in the memory of the device.
//
// An output with a buffer of its own has that buffer in a new tensor's memory; others are copied
// there when the steps have run.
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/tensor_memory.h"
#include "base/annotate.h"
#include "base/status_macros.h"

namespace weft {

absl::Status PlanRunner::RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                     const std::vector<bool>& donated,
                                     const DeviceRunOptions& options,
                                     std::vector<DeviceTensor>* outputs) {
  if (runtime_.observer != nullptr || runtime_.guard != nullptr) {
    return absl::FailedPreconditionError("a run that is checked takes tensors of the host");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].on_host() || inputs[i].memory_space() == runtime_.device.memory_space()) continue;
    const std::string name =
        i < plan_.inputs.size() ? InputName(static_cast<int>(i)) : absl::StrCat("input ", i);
    return absl::InvalidArgumentError(absl::StrCat(name, " is in the memory of another device"));
  }
  std::vector<DeviceTensor> placed;
  WEFT_RETURN_IF_ERROR(Place(inputs, &placed));
  if (!placed.empty()) inputs = placed;
  WEFT_RETURN_IF_ERROR(SetBound(inputs, options.outputs));
  donated_ = &donated;
  former_pending_ = std::exchange(pending_, CanBePending(options));
  outputs->clear();
  ++runtime_.runs;
  runtime_.stats.in_place_writes = 0;
  const absl::Status status = RunKept(inputs, nullptr, outputs);
  donated_ = nullptr;
  bound_ = {};
  return status;
}

// An error that depends on data leaves all inputs as they were, so a run that has one must not have
// returned new values of them.
bool PlanRunner::CanBePending(const DeviceRunOptions& options) const {
  const Device& device = runtime_.device;
  return options.stream.has_value() && device.frees_in_order() && !device.is_traced() &&
         !(may_fail_ && !plan_.write_backs.empty());
}

absl::Status PlanRunner::RunKept(absl::Span<const DeviceTensor> inputs, const SymbolEnv* outer,
                                 std::vector<DeviceTensor>* outputs) {
  std::vector<HostTensor> none;
  kept_ = outputs;
  outputs->resize(plan_.outputs.size());
  run_inputs_.assign(inputs.begin(), inputs.end());
  const absl::Status status = RunAll(run_inputs_, {}, outer, &none);
  kept_ = nullptr;
  if (!status.ok()) outputs->clear();
  return status;
}

absl::StatusOr<DeviceTensor> PlanRunner::NewTensor(int output, absl::Span<const int64_t> dims) {
  auto made = TensorMemory(runtime_, /*on_host=*/false).New(plan_.outputs[output].dtype(), dims);
  if (!made.ok()) return Annotate(made.status(), absl::StrCat("output ", output));
  return made;
}

absl::Status PlanRunner::SetKept(int i) {
  DeviceTensor& output = (*kept_)[i];
  const auto& dims = current_->output_dims[i];
  const DeviceTensor* const bound = Bound(i);
  if (bound != nullptr && dims) {
    WEFT_RETURN_IF_ERROR(CheckBound(i, *dims));
    if (bound_apart_[i]) output = *bound;
  }
  if (!dims || !IsDirect(i)) {
    output = DeviceTensor();
    return absl::OkStatus();
  }
  const bool fits = output.valid() && !output.on_host() &&
                    output.dtype() == plan_.outputs[i].dtype() &&
                    output.dims() == absl::MakeConstSpan(*dims);
  if (!fits) {
    WEFT_ASSIGN_OR_RETURN(output, NewTensor(i, *dims));
  }
  base_[plan_.output_views[i].buffer] = output.device_address();
  return absl::OkStatus();
}

absl::Status PlanRunner::FinishKept(int i) {
  WEFT_RETURN_IF_ERROR(MakeKept(i));
  const DeviceTensor* const bound = Bound(i);
  DeviceTensor& output = (*kept_)[i];
  if (bound == nullptr || bound->memory() == output.memory()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckBound(i, output.dims()));
  WEFT_RETURN_IF_ERROR(
      TensorMemory(runtime_, /*on_host=*/false).CopyTo(output, bound->device_address()));
  output = *bound;
  return absl::OkStatus();
}

absl::Status PlanRunner::MakeKept(int i) {
  DeviceTensor& output = (*kept_)[i];
  if (output.valid()) return absl::OkStatus();
  const View& view = plan_.output_views[i];
  if (view.type.is_symint()) {
    HostTensor value;
    WEFT_RETURN_IF_ERROR(FinishOutput(i, &value));
    output = std::move(value);
    return absl::OkStatus();
  }
  if (!IsKnown(view, env())) return absl::InternalError(absl::StrCat("output ", i, " has no size"));
  const RunView from = MakeRunView(view, env());
  WEFT_RETURN_IF_ERROR(Ensure(from.buffer));
  WEFT_ASSIGN_OR_RETURN(output, NewTensor(i, from.dims));
  if (from.numel() == 0) return absl::OkStatus();
  PreparedStep* copy = current_->output_copies[i].get();
  std::unique_ptr<PreparedStep> made;
  if (copy == nullptr) {
    WEFT_ASSIGN_OR_RETURN(made, PrepareCopy(from, DenseView(from.dtype, from.dims)));
    copy = made.get();
  }
  if (copy != nullptr) {
    WEFT_RETURN_IF_ERROR(LaunchCopy(*copy, At(from), output.device_address()));
    return made == nullptr ? absl::OkStatus() : runtime_.device.Wait();
  }
  WEFT_ASSIGN_OR_RETURN(const HostTensor seen, Read(from));
  const HostTensor dense = seen.Contiguous();
  return runtime_.device.CopyIn(output.device_address(), dense.raw(), dense.bytes());
}

absl::Status PlanRunner::CheckBeforeWrites() {
  bool writes = false;
  for (bool in_place : in_place_) writes |= in_place;
  return writes ? runtime_.launcher.CheckErrors() : absl::OkStatus();
}

}  // namespace weft
