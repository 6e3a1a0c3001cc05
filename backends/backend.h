// The interface of backends. A backend gives its target and its settings, and makes executables.
//
// BackendRegistry lists the backends of the process; tools take the names of targets, flags and
// default pipelines from it.
#ifndef WEFT_BACKENDS_BACKEND_H_
#define WEFT_BACKENDS_BACKEND_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/target/target.h"
#include "graph/tensor/dtype.h"

namespace weft {

struct DeviceRunOptions;  // backends/runtime/device_run.h
class DeviceTensor;       // backends/runtime/device_tensor.h
class Graph;
class HostTensor;
class StepObserver;

struct Plan;  // lowering/plan.h

// Settings of a backend by name ("threads"), as text. Missing ones have their defaults.
using BackendOptions = std::map<std::string, std::string, std::less<>>;

// A setting that a backend has.
struct BackendOption {
  enum class Kind {
    kInt,     // From `least` to `most`.
    kChoice,  // One of the names in `value`.
    kSwitch,  // "true" or "false".
    kText,
  };
  std::string name;  // Name of the flag and key in BackendOptions: "f32-precision".
  Kind kind = Kind::kText;
  // The value as help shows it: "N"; for kChoice the choices: "native|avx2|avx512".
  std::string value;
  std::string default_value;  // May be empty.
  std::string help;           // One sentence or more, without the default.
  int64_t least = 0;
  int64_t most = 0;

  // InvalidArgument says which values are valid; `shown` names the option there, as "--threads".
  absl::Status CheckValue(absl::string_view value, absl::string_view shown) const;
};

// Counts of an executable's life by name: "steps", "arena_bytes", "code_us" (microseconds).
using Counters = std::map<std::string, int64_t, std::less<>>;
// The counter's value; 0 if there is no such counter.
int64_t CounterOf(const Counters& counters, absl::string_view name);

// A compiled program.
class Executable {
 public:
  virtual ~Executable() = default;

  // Runs on one tensor per input. `outputs`: the results of the program, without write-backs. Those
  // of a plan, and what it writes, have memory of their own: no input, constant or other result has
  // a part of it.
  // `written`: one tensor per input, invalid for an input that was not written. The caller gives up
  // the values of inputs that are marked in `donated`: a write-back may be stored in such an
  // input's own memory, and its tensor in `written` is then invalid. If an error depends on the
  // inputs, the inputs are unchanged. Thread-safe.
  virtual absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                           std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) = 0;

  // True if the target's device has memory of its own, where tensors can stay between runs. Only
  // then the calls below are made; an executable without such memory refuses them.
  virtual bool has_device_memory() const { return false; }
  // DeviceTensor::memory_space() of tensors there.
  virtual const void* memory_space() const { return nullptr; }
  // As Run, on tensors in the device's memory or the host's, which are copied. The outputs stay on
  // the device, but for integers that are sizes. The new value of a donated tensor may be stored in
  // its memory, if no other tensor uses that; its tensor in `written` is then on that memory.
  // InvalidArgument for tensors of other devices. Thread-safe. `options` says how the run is
  // ordered with other work; Unimplemented for a stream if the device knows none of the caller's.
  virtual absl::Status RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                   const std::vector<bool>& donated,
                                   const DeviceRunOptions& options,
                                   std::vector<DeviceTensor>* outputs,
                                   std::vector<DeviceTensor>* written);
  // Waits for the runs so far, and returns the first error of those that nothing waited for.
  virtual absl::Status Synchronize() { return absl::OkStatus(); }
  // Copies; the tensor itself if it is on the host already.
  virtual absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor);
  virtual absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor);

  // Waits until all code is compiled. If compiling fails, returns the error, and the interpreter
  // runs instead.
  virtual absl::Status WaitForCode() { return absl::OkStatus(); }

  virtual Counters counters() const { return {}; }
};

// The memory of a device, for tensors of a program beside those that its executables make. Tensors
// may outlive it. Thread-safe.
class DeviceSpace {
 public:
  virtual ~DeviceSpace() = default;

  // The device as DLPack numbers them: 2 and the GPU's number for CUDA.
  virtual int dlpack_type() const = 0;
  virtual int dlpack_id() const = 0;
  // A dense tensor at an address that `owner`, which may be null, keeps valid. InvalidArgument if
  // the address is not in the device's memory; the number of bytes there is believed.
  virtual absl::StatusOr<DeviceTensor> Borrow(void* address, DType dtype,
                                              absl::Span<const int64_t> dims,
                                              std::shared_ptr<void> owner) = 0;
  // Copies, which are done when the call returns.
  virtual absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor) = 0;
  virtual absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) = 0;
};

// Hooks for checks of a backend; with the defaults the executable is a plain one.
struct ExecutableHooks {
  // Called between the steps of the plan; outlives the executable.
  StepObserver* observer = nullptr;
  // Put red zones around every buffer, and poison into buffers that no step has written yet.
  bool guard_memory = false;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // The target; its name is the backend's.
  virtual const Target& target() const = 0;
  // The pipeline that prepares a model for the target.
  virtual std::string default_pipeline() const = 0;
  virtual absl::Span<const BackendOption> options() const { return {}; }
  // False for a backend that runs graphs directly: Compile ignores the plan.
  virtual bool runs_plans() const { return true; }

  // `graph`, which the plan was made from, and its module outlive the executable. The options have
  // passed CheckOptions. InvalidArgument if this machine lacks something that an option requires.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const Graph& graph, Plan plan, const BackendOptions& options,
      const ExecutableHooks& hooks = {}) const = 0;

  // The memory in which executables with these options work; null if it is the host's, or if each
  // executable has its own.
  virtual absl::StatusOr<std::shared_ptr<DeviceSpace>> OpenSpace(
      const BackendOptions& options) const;

  const std::string& name() const { return target().name; }
};

// InvalidArgument names an unknown option and lists the valid ones, or says which values an option
// takes.
absl::Status CheckOptions(const Backend& backend, const BackendOptions& options);
// The given value, or the default. CHECKs that the backend has the option.
const std::string& OptionOf(const Backend& backend, const BackendOptions& options,
                            absl::string_view name);

// The backends of a process, by name. Copies share the backends.
class BackendRegistry {
 public:
  // AlreadyExists if there is a backend with that name.
  absl::Status Add(std::shared_ptr<const Backend> backend);
  // InvalidArgument for an unknown name; the message lists the targets.
  absl::StatusOr<const Backend*> Find(absl::string_view name) const;
  // In the order in which they were added.
  const std::vector<std::shared_ptr<const Backend>>& all() const { return backends_; }

 private:
  std::vector<std::shared_ptr<const Backend>> backends_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_BACKEND_H_
