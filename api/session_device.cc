// Runs whose tensors, and the session's state, stay in the memory of the device.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "api/call_inputs.h"
#include "api/session.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "profiler/record.h"

namespace weft {
namespace {

// As CheckApart for tensors of a host: an error if a tensor that is written shares memory with
// another one.
absl::Status CheckKeptApart(const Graph& graph, absl::Span<const DeviceTensor> inputs,
                            const std::vector<bool>& writes) {
  std::vector<HostTensor> hosts;
  absl::flat_hash_map<const DeviceMemory*, int> first;
  for (size_t i = 0; i < inputs.size(); ++i) {
    hosts.push_back(inputs[i].host());
    if (inputs[i].on_host()) continue;
    const auto [other, is_new] = first.emplace(inputs[i].memory().get(), static_cast<int>(i));
    if (is_new || (!writes[i] && !writes[other->second])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("inputs \"", graph.input_info(other->second).name, "\" and \"",
                     graph.input_info(static_cast<int>(i)).name,
                     "\" share memory, and the program writes one of them"));
  }
  return CheckApart(graph, hosts, writes);
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
  for (size_t i = 0; i < newer_.size(); ++i) {
    if (!newer_[i]) continue;
    WEFT_ASSIGN_OR_RETURN(state_[i], executable_->ToHost(kept_state_[i]));
    kept_state_[i] = DeviceTensor();
    newer_[i] = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> Session::FillInKept(const std::vector<bool>& lent,
                                                     std::vector<DeviceTensor>* inputs) {
  std::vector<int> filled;
  const size_t n = std::min(inputs->size(), lent.size());
  for (size_t i = 0; i < n; ++i) {
    if ((*inputs)[i].valid()) continue;
    const int value = main().input_info(static_cast<int>(i)).value;
    if (value >= 0) {
      (*inputs)[i] = module_->constants().tensor(value);
    } else if (state_[i].valid()) {
      if (!kept_state_[i].valid()) {
        WEFT_ASSIGN_OR_RETURN(kept_state_[i], executable_->ToDevice(state_[i]));
      }
      (*inputs)[i] = kept_state_[i];
    }
    filled.push_back(static_cast<int>(i));
  }
  // Tensors that may be overwritten have no other user.
  for (int i : filled) {
    if (lent[i]) kept_state_[i] = DeviceTensor();
  }
  return filled;
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunOnMemory(std::vector<DeviceTensor>* inputs,
                                                               bool donate,
                                                               std::vector<DeviceTensor>* written) {
  const profiler::Scope scope(profiler::Activity::kCpuOp, "session.run");
  const std::vector<bool> writes = WriteBacks();
  if (inputs->size() == writes.size()) {
    WEFT_RETURN_IF_ERROR(CheckKeptApart(main(), *inputs, writes));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> filled, FillInKept(writes, inputs));
  std::vector<bool> donated(writes.size(), donate);
  for (int i : filled) donated[i] = writes[i];
  std::vector<DeviceTensor> outputs;
  const absl::Status status =
      executable_->RunOnDevice(absl::MakeSpan(*inputs), donated, &outputs, written);
  for (int i : filled) {
    const bool has_state = state_[i].valid() && main().input_info(i).value < 0;
    if (has_state && writes[i]) {
      kept_state_[i] = std::move(status.ok() ? (*written)[i] : (*inputs)[i]);
      newer_[i] = newer_[i] || status.ok();
    }
    (*inputs)[i] = DeviceTensor();
    if (status.ok()) (*written)[i] = DeviceTensor();
  }
  WEFT_RETURN_IF_ERROR(status);
  return outputs;
}

// On a target that works in the host's memory.
absl::StatusOr<std::vector<DeviceTensor>> Session::RunOnHost(std::vector<DeviceTensor>* inputs,
                                                             bool donate,
                                                             std::vector<DeviceTensor>* written) {
  // Moved, because a tensor that is overwritten has no other user.
  std::vector<HostTensor> hosts;
  for (const DeviceTensor& input : *inputs) {
    if (!input.on_host()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", hosts.size(),
                       " is in the memory of a device, and the target works in the host's"));
    }
    hosts.push_back(input.host());
  }
  inputs->clear();
  std::vector<HostTensor> host_written;
  const auto outputs = RunOrdered(&hosts, donate, &host_written);
  for (HostTensor& tensor : hosts) inputs->emplace_back(std::move(tensor));
  WEFT_RETURN_IF_ERROR(outputs.status());
  written->assign(host_written.begin(), host_written.end());
  return std::vector<DeviceTensor>(outputs->begin(), outputs->end());
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunKept(std::vector<DeviceTensor>* inputs,
                                                           bool donate,
                                                           std::vector<DeviceTensor>* written) {
  return executable_->has_device_memory() ? RunOnMemory(inputs, donate, written)
                                          : RunOnHost(inputs, donate, written);
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunOnDevice(
    absl::Span<const DeviceTensor> inputs) {
  std::vector<DeviceTensor> copies(inputs.begin(), inputs.end());
  std::vector<DeviceTensor> written;
  return RunKept(&copies, /*donate=*/false, &written);
}

absl::StatusOr<std::vector<DeviceTensor>> Session::RunOnDevice(std::vector<DeviceTensor>* inputs) {
  std::vector<DeviceTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<DeviceTensor> outputs,
                        RunKept(inputs, /*donate=*/true, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) (*inputs)[i] = std::move(written[i]);
  }
  return outputs;
}

}  // namespace weft
