// Runs whose tensors, and the session's state, stay in the memory of the device.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/call_inputs.h"
#include "api/session.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "profiler/record.h"

namespace weft {
namespace {

// The inputs of a target that works in the host's memory.
absl::StatusOr<std::vector<HostTensor>> HostInputs(const Graph& graph,
                                                   absl::Span<const DeviceTensor> inputs,
                                                   const DeviceRunOptions& options) {
  const char* const reason = ", and the target works in the host's";
  if (options.stream || !options.outputs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the options are for the memory of a device", reason));
  }
  std::vector<HostTensor> hosts;
  for (const DeviceTensor& input : inputs) {
    if (!input.on_host()) {
      const int i = static_cast<int>(hosts.size());
      const std::string name =
          i < graph.num_inputs() ? absl::StrCat(" (", graph.input_info(i).name, ")") : "";
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, name, " is in the memory of a device", reason));
    }
    hosts.push_back(input.host());
  }
  return hosts;
}

}  // namespace

absl::StatusOr<DeviceTensor> Session::ToDevice(const HostTensor& tensor) const {
  if (!executable_->has_device_memory()) return tensor;
  return executable_->ToDevice(tensor);
}

absl::StatusOr<HostTensor> Session::ToHost(const DeviceTensor& tensor) const {
  if (tensor.on_host()) return tensor.host();
  return executable_->ToHost(tensor);
}

absl::Status Session::FetchState() const {
  for (size_t i = 0; i < device_is_newer_.size(); ++i) {
    if (!device_is_newer_[i]) continue;
    WEFT_ASSIGN_OR_RETURN(state_[i], executable_->ToHost(device_state_[i]));
    device_state_[i] = DeviceTensor();
    device_is_newer_[i] = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> Session::FillInOnDevice(const std::vector<bool>& lent,
                                                         std::vector<DeviceTensor>* inputs) {
  std::vector<int> filled;
  const int n = std::min<int>(static_cast<int>(inputs->size()), main().num_inputs());
  for (int i = 0; i < n; ++i) {
    if ((*inputs)[i].valid()) continue;
    filled.push_back(i);
    if (main().input_info(i).value >= 0 || !state_[i].valid() || device_state_[i].valid()) continue;
    WEFT_ASSIGN_OR_RETURN(device_state_[i], executable_->ToDevice(state_[i]));
  }
  for (int i : filled) {
    const int value = main().input_info(i).value;
    if (value >= 0) {
      (*inputs)[i] = module_->constants().tensor(value);
    } else if (lent[i]) {
      (*inputs)[i] = std::move(device_state_[i]);
    } else {
      (*inputs)[i] = device_state_[i];
    }
  }
  return filled;
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunInDeviceMemory(
    std::vector<DeviceTensor>* inputs, bool donate, const DeviceRunOptions& options,
    std::vector<DeviceTensor>* written) {
  const profiler::Scope scope(profiler::Activity::kCpuOp, "session.run");
  const std::vector<bool> writes = WriteBacks();
  if (inputs->size() == writes.size()) {
    WEFT_RETURN_IF_ERROR(CheckApart(main(), *inputs, writes));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> filled, FillInOnDevice(writes, inputs));
  std::vector<bool> donated(writes.size(), donate);
  for (int i : filled) donated[i] = writes[i];
  std::vector<DeviceTensor> outputs;
  const absl::Status status =
      executable_->RunOnDevice(*inputs, donated, options, &outputs, written);
  for (int i : filled) {
    const bool has_state = state_[i].valid() && main().input_info(i).value < 0;
    if (has_state && writes[i]) {
      device_state_[i] = std::move(status.ok() ? (*written)[i] : (*inputs)[i]);
      device_is_newer_[i] = device_is_newer_[i] || status.ok();
    }
    (*inputs)[i] = DeviceTensor();
    if (status.ok()) (*written)[i] = DeviceTensor();
  }
  WEFT_RETURN_IF_ERROR(status);
  return outputs;
}

// On a target that works in the host's memory.
absl::StatusOr<std::vector<DeviceTensor>> Session::RunInHostMemory(
    std::vector<DeviceTensor>* inputs, bool donate, const DeviceRunOptions& options,
    std::vector<DeviceTensor>* written) {
  // Moved, because a tensor that is overwritten has no other user.
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> hosts, HostInputs(main(), *inputs, options));
  inputs->clear();
  std::vector<HostTensor> host_written;
  const auto outputs = RunOrdered(&hosts, donate, &host_written);
  for (HostTensor& tensor : hosts) inputs->emplace_back(std::move(tensor));
  WEFT_RETURN_IF_ERROR(outputs.status());
  written->assign(host_written.begin(), host_written.end());
  return std::vector<DeviceTensor>(outputs->begin(), outputs->end());
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunTensors(std::vector<DeviceTensor>* inputs,
                                                              bool donate,
                                                              const DeviceRunOptions& options,
                                                              std::vector<DeviceTensor>* written) {
  return executable_->has_device_memory() ? RunInDeviceMemory(inputs, donate, options, written)
                                          : RunInHostMemory(inputs, donate, options, written);
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunStatelessOnDevice(
    absl::Span<const DeviceTensor> inputs, const std::vector<bool>& donated,
    const DeviceRunOptions& options, std::vector<DeviceTensor>* written) const {
  std::vector<DeviceTensor> outputs;
  if (executable_->has_device_memory()) {
    WEFT_RETURN_IF_ERROR(executable_->RunOnDevice(inputs, donated, options, &outputs, written));
    return outputs;
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> hosts, HostInputs(main(), inputs, options));
  std::vector<HostTensor> host_written;
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> made,
                        RunOnce(hosts, /*donated=*/{}, &host_written));
  written->assign(host_written.begin(), host_written.end());
  outputs.assign(made.begin(), made.end());
  return outputs;
}

absl::Status Session::Synchronize() const { return executable_->Synchronize(); }

absl::StatusOr<std::vector<DeviceTensor>> Session::RunOnDevice(
    absl::Span<const DeviceTensor> inputs, const DeviceRunOptions& options) {
  std::vector<DeviceTensor> copies(inputs.begin(), inputs.end());
  std::vector<DeviceTensor> written;
  return RunTensors(&copies, /*donate=*/false, options, &written);
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunOnDevice(std::vector<DeviceTensor>* inputs,
                                                               const DeviceRunOptions& options) {
  std::vector<DeviceTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<DeviceTensor> outputs,
                        RunTensors(inputs, /*donate=*/true, options, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) (*inputs)[i] = std::move(written[i]);
  }
  return outputs;
}

}  // namespace weft
