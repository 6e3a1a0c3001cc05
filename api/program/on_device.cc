// Runs of programs on tensors in the memory of the target's device, where state then stays.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/call_inputs.h"
#include "api/program.h"
#include "api/program/impl.h"
#include "api/session.h"
#include "backends/runtime/device.h"
#include "backends/runtime/run_input.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "profiler/record.h"

namespace weft {

absl::StatusOr<std::shared_ptr<DeviceSpace>> ProgramImpl::Space() {
  absl::MutexLock lock(&space_mu_);
  if (space_ == nullptr) {
    WEFT_ASSIGN_OR_RETURN(space_, backend_.OpenSpace(backend_options_));
  }
  return space_;
}

// --- State ---------------------------------------------------------------------------

absl::Status ProgramImpl::TakeTurn(std::optional<absl::MutexLock>* in_turn) {
  if (!writes_on_device_) return absl::OkStatus();
  in_turn->emplace(&run_mu_);
  return FetchState();
}

absl::Status ProgramImpl::FetchState() {
  WEFT_RETURN_IF_ERROR(Settle(std::nullopt));
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < device_state_.size(); ++i) {
    if (!device_is_newer_[i]) continue;
    WEFT_ASSIGN_OR_RETURN(state_[i], cache_.ToHost(device_state_[i]));
    device_is_newer_[i] = false;
  }
  return absl::OkStatus();
}

absl::Status ProgramImpl::Settle(std::optional<void*> stream) {
  if (!pending_ || pending_ == stream) return absl::OkStatus();
  pending_.reset();
  return cache_.Synchronize();
}

absl::Status ProgramImpl::Synchronize() {
  std::optional<absl::MutexLock> in_turn;
  if (writes_state_) {
    in_turn.emplace(&run_mu_);
    pending_.reset();
  }
  return cache_.Synchronize();
}

// The streams of their last runs may be gone, so they are freed when nothing is pending.
void ProgramImpl::Release(std::vector<DeviceTensor> tensors) {
  bool waited = false;
  for (const DeviceTensor& tensor : tensors) {
    // Another user has it in a run, and drops it in the order of that.
    if (tensor.on_host() || tensor.memory().use_count() > 1) continue;
    if (!waited) cache_.Synchronize().IgnoreError();
    waited = true;
    tensor.memory()->SetStream(std::nullopt);
  }
}

absl::StatusOr<std::vector<DeviceTensor>> ProgramImpl::FillOnDevice(
    absl::Span<const DeviceTensor> given, std::vector<bool>* filled) {
  std::vector<DeviceTensor> inputs(given.begin(), given.end());
  if (static_cast<int>(inputs.size()) != main().num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", main().num_inputs(), " inputs, got ", inputs.size()));
  }
  filled->assign(inputs.size(), false);
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid()) continue;
    const InputInfo& info = main().input_info(static_cast<int>(i));
    if (info.value >= 0) {
      inputs[i] = model_->constants().tensor(info.value);
      continue;
    }
    if (!state_[i].valid()) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", info.name, "\" is missing"));
    }
    (*filled)[i] = true;
    // Guards compare the host's tensor, as long as that is the value.
    inputs[i] = device_is_newer_[i] ? device_state_[i] : DeviceTensor(state_[i]);
  }
  return inputs;
}

absl::Status ProgramImpl::Upload(const VariantCache::Found& found, const std::vector<bool>& filled,
                                 std::vector<DeviceTensor>* inputs) {
  const Session& session = found.session();
  if (!session.has_device_memory()) return absl::OkStatus();
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (!filled[i] || !found.Takes(static_cast<int>(i))) continue;
    DeviceTensor& input = (*inputs)[i];
    if (input.on_host()) {
      absl::MutexLock lock(&mu_);
      const DeviceTensor& kept = device_state_[i];
      if (kept.valid() && HasSameMemory(input.host(), state_[i])) input = kept;
    }
    if (!input.on_host() && input.memory_space() == session.memory_space()) continue;
    WEFT_ASSIGN_OR_RETURN(const HostTensor host, cache_.ToHost(input));
    WEFT_ASSIGN_OR_RETURN(input, session.ToDevice(host));
    absl::MutexLock lock(&mu_);
    if (device_is_newer_[i] || HasSameMemory(host, state_[i])) device_state_[i] = input;
  }
  return absl::OkStatus();
}

void ProgramImpl::Keep(const std::vector<bool>& filled, std::vector<DeviceTensor>* inputs,
                       std::vector<DeviceTensor>* written) {
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (!filled[i]) continue;
    DeviceTensor& old = (*inputs)[i];
    DeviceTensor value =
        written == nullptr ? DeviceTensor() : std::exchange((*written)[i], DeviceTensor());
    if (!value.valid()) {
      if (!old.on_host()) device_state_[i] = std::move(old);
    } else if (value.on_host()) {
      state_[i] = value.host();
    } else {
      device_state_[i] = std::move(value);
      device_is_newer_[i] = true;
    }
  }
}

// --- Calls ---------------------------------------------------------------------------

absl::StatusOr<std::vector<DeviceTensor>> ProgramImpl::RunOnDevice(
    absl::Span<const DeviceTensor> given, const DeviceRunOptions& options,
    std::vector<DeviceTensor>* written) {
  const profiler::Scope scope(profiler::Activity::kCpuOp, "program.run");
  std::optional<absl::MutexLock> in_turn;
  if (writes_state_) {
    writes_on_device_ = true;
    in_turn.emplace(&run_mu_);
    WEFT_RETURN_IF_ERROR(Settle(options.stream));
    has_streams_ |= options.stream.has_value();
  }
  std::vector<bool> filled;
  WEFT_ASSIGN_OR_RETURN(std::vector<DeviceTensor> inputs, FillOnDevice(given, &filled));
  const std::vector<RunInput> all(inputs.begin(), inputs.end());
  WEFT_ASSIGN_OR_RETURN(const VariantCache::Found found, cache_.Get(all));
  WEFT_RETURN_IF_ERROR(Upload(found, filled, &inputs));
  std::vector<bool> donated(inputs.size(), false);
  if (writes_state_) {
    donated = filled;
    absl::MutexLock lock(&mu_);
    for (size_t i = 0; i < filled.size(); ++i) {
      // Memory that is overwritten has no other user.
      if (filled[i] && !inputs[i].on_host()) device_state_[i] = DeviceTensor();
    }
  }
  auto outputs = found.RunOnDevice(&inputs, donated, options, written);
  if (writes_state_) {
    Keep(filled, &inputs, outputs.ok() ? written : nullptr);
    pending_ = outputs.ok() ? options.stream : std::nullopt;
  }
  WEFT_RETURN_IF_ERROR(outputs.status());
  WEFT_RETURN_IF_ERROR(CheckApart(main(), given, AreValid(*written)));
  // The streams of former runs may be gone.
  if (has_streams_ && !options.stream) Release(std::move(inputs));
  return outputs;
}

absl::StatusOr<HostTensor> ProgramImpl::ToHost(const DeviceTensor& tensor) {
  if (tensor.on_host()) return tensor.host();
  WEFT_RETURN_IF_ERROR(Synchronize());
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceSpace> space, Space());
  return space != nullptr ? space->ToHost(tensor) : cache_.ToHost(tensor);
}

// --- Program -------------------------------------------------------------------------

absl::StatusOr<std::shared_ptr<DeviceSpace>> Program::device() { return impl_->Space(); }

absl::StatusOr<std::vector<DeviceTensor>> Program::RunOnDevice(
    absl::Span<const DeviceTensor> inputs, const DeviceRunOptions& options) {
  std::vector<DeviceTensor> written;
  return impl_->RunOnDevice(inputs, options, &written);
}

absl::StatusOr<std::vector<DeviceTensor>> Program::RunOnDevice(std::vector<DeviceTensor>* inputs,
                                                               const DeviceRunOptions& options) {
  std::vector<DeviceTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<DeviceTensor> outputs,
                        impl_->RunOnDevice(*inputs, options, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) (*inputs)[i] = std::move(written[i]);
  }
  return outputs;
}

absl::StatusOr<std::vector<DeviceTensor>> Program::RunOnDevice(
    const std::map<std::string, DeviceTensor>& inputs, const DeviceRunOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<DeviceTensor> ordered,
                        PlaceByName(impl_->main(), inputs));
  return RunOnDevice(ordered, options);
}

absl::StatusOr<HostTensor> Program::ToHost(const DeviceTensor& tensor) {
  return impl_->ToHost(tensor);
}

absl::Status Program::Synchronize() { return impl_->Synchronize(); }

}  // namespace weft
