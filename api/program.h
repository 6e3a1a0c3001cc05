// A model that is compiled when it is called, for the sizes of the calls: torch.compile's program
// cache.
//
// A program owns the model as it was imported, with symbolic sizes, and its compiled variants. A
// call
//   1 is checked against the constraints: dtypes, ranks, and the facts about symbols
//     that the model came with. If it breaks one, the error (InvalidArgument) names the
//     input, its dim, the size and the constraint, and nothing is compiled;
//   2 runs the most recently used variant whose guards hold;
//   3 if there is none, compiles a new variant: ProgramOptions decides which sizes it
//     fixes. Explain() gives the reason for each variant.
//
// State: inputs with an initial value hold state, as in a Session (session.h). It belongs to the
// program: all variants read and write it. A pipeline that makes constants of parameters, as those
// of devices do (freeze), makes variants for the initial values alone; the first call with another
// value compiles one to which that parameter is an input, for all of its values.
//
// Thread-safe. A call that is being compiled blocks only other calls that must be compiled. Calls
// of a program that writes its state run one after another, so the state is the result of some
// order of the calls.
#ifndef WEFT_API_PROGRAM_H_
#define WEFT_API_PROGRAM_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/dynamic/explain.h"
#include "api/program_options.h"
#include "backends/backend.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;
class ProgramImpl;

class Program {
 public:
  // InvalidArgument for a module without @main, an unknown target, and options that do not fit the
  // model. Objects that `options.compile` points to outlive the program.
  static absl::StatusOr<Program> Create(std::unique_ptr<Module> model, ProgramOptions options = {});
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // The model as it was imported, with the ranges of marked dims.
  const Module& module() const;
  const Graph& main() const { return *module().main(); }

  // As Session::Run: returns outputs without write-backs; empty tensors select left-out inputs. The
  // overloads with a pointer put the new value of a written input into the caller's tensor, always
  // as a new tensor: calls in other threads may still read the old one.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::initializer_list<HostTensor> inputs) {
    return Run(absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }
  absl::StatusOr<std::vector<HostTensor>> Run(std::vector<HostTensor>* inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::map<std::string, HostTensor>* inputs);

  // Runs whose tensors stay in the memory of the target's device, as Session::RunOnDevice: inputs
  // may lie there or on the host, which is copied, and all outputs stay there, but for integers
  // that are sizes. State that a run writes stays there, too, and is updated in place where the
  // plan allows that; state(), Run() and FunctionalCall() see its newest value, for which they take
  // turns with such runs. On a target that works in the host's memory all tensors are of the host.
  //
  // `options` order the run behind work of the caller's stream, and that behind the run
  // (device_run.h). A run on another stream than the one before waits for that if runs write state.
  // A stream outlives the tensors of its runs; for state it lives until Synchronize().
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                                        const DeviceRunOptions& options = {});
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(std::initializer_list<DeviceTensor> inputs,
                                                        const DeviceRunOptions& options = {}) {
    return RunOnDevice(absl::MakeConstSpan(inputs.begin(), inputs.size()), options);
  }
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(std::vector<DeviceTensor>* inputs,
                                                        const DeviceRunOptions& options = {});
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(
      const std::map<std::string, DeviceTensor>& inputs, const DeviceRunOptions& options = {});
  // The memory of the target's device (backends/backend.h), which takes tensors of the caller; null
  // if the target works in the host's memory, or each variant in memory of its own.
  absl::StatusOr<std::shared_ptr<DeviceSpace>> device();
  // A copy on the host, behind all runs so far.
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor);
  // Waits for all runs so far; returns the first error of those that returned before they were
  // done.
  absl::Status Synchronize();

  // A call with other tensors for the named parameters and buffers (the model's name, or the
  // input's), as torch.func.functional_call. Nothing is recompiled, except for parameters that are
  // constants of the code (above), and the state of the program does not change. With a pointer,
  // `tensors` gets the values that the call writes to state, under the given name or else the
  // model's. NotFound for an unknown name lists similar ones; InvalidArgument for a tensor of
  // another type.
  absl::StatusOr<std::vector<HostTensor>> FunctionalCall(
      const std::map<std::string, HostTensor>& tensors,
      const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> FunctionalCall(
      std::map<std::string, HostTensor>* tensors, const std::map<std::string, HostTensor>& inputs);

  // The state of the parameter, buffer or input with that name; nullopt if there is none, or if it
  // cannot be copied from the device.
  std::optional<HostTensor> state(absl::string_view name) const;
  // Errors are those of FunctionalCall; after one nothing has changed.
  absl::Status SetState(absl::string_view name, HostTensor tensor);
  // Several at once, between two runs: no run reads some old and some new values.
  absl::Status SetStates(const std::map<std::string, HostTensor>& tensors);
  // All names of state, in the order of the inputs: the model's name if there is one.
  std::vector<std::string> state_names() const;

  ProgramExplanation Explain() const;

 private:
  explicit Program(std::unique_ptr<ProgramImpl> impl);
  std::unique_ptr<ProgramImpl> impl_;
};

}  // namespace weft

#endif  // WEFT_API_PROGRAM_H_
