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
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;

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

  // The state of the parameter, buffer or input with that name.
  std::optional<HostTensor> state(absl::string_view name) const;
  // Errors are those of FunctionalCall; after one nothing has changed.
  absl::Status SetState(absl::string_view name, HostTensor tensor);
  // Several at once, between two runs: no run reads some old and some new values.
  absl::Status SetStates(const std::map<std::string, HostTensor>& tensors);
  // All names of state, in the order of the inputs: the model's name if there is one.
  std::vector<std::string> state_names() const;

  ProgramExplanation Explain() const;

 private:
  class Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_API_PROGRAM_H_
