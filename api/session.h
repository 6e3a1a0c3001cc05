// Runs a module on a target, with inputs by position or by name.
//
// State: an input with an initial value (InputInfo::initial) may be left out. The session holds its
// value, at first the initial one, and keeps the value that the program writes to it for the next
// run: this is how buffers and parameters of a model work.
//
// Writes: the overloads that take a pointer return the new value of a written input in the caller's
// tensor; the others drop it. The new value is another tensor, or, on a target that runs plans, the
// given tensor overwritten in place: if the plan allows it (lowering/write_backs.h), the tensor is
// dense, no other tensor uses its memory, and the memory is neither borrowed nor mapped from a
// file. The same holds for state: a tensor that state() points to may be overwritten, a copy of
// that tensor keeps its value. To keep the old value of an input, hold another tensor on it.
//
// If an error depends on the inputs (assertions, indices, shapes), tensors and state are unchanged,
// because the steps that can fail so run before anything is overwritten. Only running out of memory
// later may leave some of them written.
#ifndef WEFT_API_SESSION_H_
#define WEFT_API_SESSION_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;

class Session {
 public:
  // `target` is the name of a built-in backend (backends.h); InvalidArgument lists them for an
  // unknown name, and the valid options for an unknown option. A module that writes is made
  // functional for a backend that runs plans.
  static absl::StatusOr<Session> Create(std::unique_ptr<Module> module, absl::string_view target,
                                        const BackendOptions& options = {});
  // `backend` outlives the session.
  static absl::StatusOr<Session> Create(std::unique_ptr<Module> module, const Backend& backend,
                                        const BackendOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const Module& module() const { return *module_; }
  const Graph& main() const { return *module_->main(); }

  // Every call checks the inputs against the signature: dtypes, shapes, facts about symbols,
  // required values; and that no input that is written shares memory with another. Returns the
  // outputs without the write-backs. Empty tensors select left-out inputs: those with state and
  // those that the program is specialised to.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::initializer_list<HostTensor> inputs) {
    return Run(absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }
  absl::StatusOr<std::vector<HostTensor>> Run(std::vector<HostTensor>* inputs);
  // Errors name unknown and missing inputs.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::map<std::string, HostTensor>* inputs);

  // A run that does not use the state: requires all inputs, and returns new values of inputs in
  // `written`, by input. Thread-safe.
  absl::StatusOr<std::vector<HostTensor>> RunStateless(absl::Span<const HostTensor> inputs,
                                                       std::vector<HostTensor>* written) const;

  // Runs whose tensors stay in the memory of the target's device: inputs may lie there or on the
  // host, which is copied, and all outputs stay there, but for integers that are sizes. State stays
  // there, too, from the first such run on. On a target that works in the host's memory all tensors
  // are of the host, and nothing is copied. InvalidArgument for tensors of other devices.
  //
  // The overload with a pointer returns new values of written inputs in the caller's tensors. The
  // new value of a tensor on a device is stored in place if the plan allows it and no other tensor
  // uses its memory.
  //
  // `options` order the run with work of the caller, and give memory for outputs (device_run.h). On
  // a target that works in the host's memory they are InvalidArgument if there are any.
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                                        const DeviceRunOptions& options = {});
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(std::vector<DeviceTensor>* inputs,
                                                        const DeviceRunOptions& options = {});
  // As RunStateless. Inputs marked in `donated`, which may be empty, may be overwritten.
  absl::StatusOr<std::vector<DeviceTensor>> RunStatelessOnDevice(
      absl::Span<const DeviceTensor> inputs, const std::vector<bool>& donated,
      const DeviceRunOptions& options, std::vector<DeviceTensor>* written) const;
  // Waits for the runs so far, and returns the first error of those that returned before they were
  // done. Thread-safe.
  absl::Status Synchronize() const;
  // Copies between the host and the device. Tensors on a device belong to it, and not to the
  // session: they may outlive it, and sessions of one device share them.
  absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor) const;
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) const;

  // True if the target's device has memory of its own.
  bool has_device_memory() const { return executable_->has_device_memory(); }
  // DeviceTensor::memory_space() of its tensors; null without such memory.
  const void* memory_space() const { return executable_->memory_space(); }

  // Waits until kernels are compiled, if the options ask for that; returns the error if it failed
  // and the interpreter runs instead.
  absl::Status WaitForCode();

  // Counters of the executable, and "lowering_us", the microseconds that making the plan took.
  Counters counters() const;

  // The state of the parameter, buffer or input with that name; null if there is none, or if it
  // cannot be copied from the device.
  const HostTensor* state(absl::string_view name) const;
  // The tensor must have the type of the input; NotFound for an unknown name.
  absl::Status SetState(absl::string_view name, HostTensor tensor);

 private:
  Session(std::unique_ptr<Module> module, const Backend& backend);
  // Runs on `inputs`, in which left-out ones are filled in during the run. Stores new values of
  // state, and returns those of other inputs in `written`, by input. With `donate` the program may
  // overwrite the tensors; `written` then has no entry for a value that was stored in place.
  absl::StatusOr<std::vector<HostTensor>> RunOrdered(std::vector<HostTensor>* inputs, bool donate,
                                                     std::vector<HostTensor>* written);
  // Moves state instead of copying it for inputs marked in `lent`.
  std::vector<int> FillIn(const std::vector<bool>& lent, std::vector<HostTensor>* inputs);
  absl::StatusOr<std::vector<HostTensor>> RunOnce(absl::Span<const HostTensor> inputs,
                                                  const std::vector<bool>& donated,
                                                  std::vector<HostTensor>* written) const;

  // By input: whether the program writes it and no node has to run to know that.
  std::vector<bool> WriteBacks() const;

  // --- State on the device (session_device.cc) -------------------------------------------
  // As RunOrdered: on any target, on one with a device's memory, and on one without.
  absl::StatusOr<std::vector<DeviceTensor>> RunTensors(std::vector<DeviceTensor>* inputs,
                                                       bool donate, const DeviceRunOptions& options,
                                                       std::vector<DeviceTensor>* written);
  absl::StatusOr<std::vector<DeviceTensor>> RunInDeviceMemory(std::vector<DeviceTensor>* inputs,
                                                              bool donate,
                                                              const DeviceRunOptions& options,
                                                              std::vector<DeviceTensor>* written);
  absl::StatusOr<std::vector<DeviceTensor>> RunInHostMemory(std::vector<DeviceTensor>* inputs,
                                                            bool donate,
                                                            const DeviceRunOptions& options,
                                                            std::vector<DeviceTensor>* written);
  // As FillIn, with state on the device. If it fails, the inputs are unchanged.
  absl::StatusOr<std::vector<int>> FillInOnDevice(const std::vector<bool>& lent,
                                                  std::vector<DeviceTensor>* inputs);
  // Copies what runs on the device have written to state_.
  absl::Status FetchState() const;

  std::unique_ptr<Module> module_;
  const Backend* backend_ = nullptr;
  std::unique_ptr<Executable> executable_;
  int64_t lowering_us_ = 0;
  // By input; empty without state.
  mutable std::vector<HostTensor> state_;
  // By input: the state on the device, if a run has put it there, and whether it is newer than
  // state_.
  mutable std::vector<DeviceTensor> device_state_;
  mutable std::vector<bool> device_is_newer_;
};

}  // namespace weft

#endif  // WEFT_API_SESSION_H_
