// A model that is compiled when it is called, for the sizes that the calls bring:
// torch.compile's program cache.
//
// A program owns the model as it was imported, with sizes that are symbols, and the
// variants that it was compiled to. A call
//   1 is checked against the constraints: dtypes, ranks, and the facts about symbols
//     that the model came with. One that breaks them is an error (InvalidArgument)
//     that names the input, its dim, the size and the constraint; nothing is compiled.
//   2 runs the variant whose guards hold, the one used last first.
//   3 without such a one, has a variant compiled: which sizes it fixes is up to
//     ProgramOptions. Explain() says why each variant is there.
//
// State: as in a Session (session.h), inputs with an initial value hold state. It is
// the program's: all variants read it and write it.
//
// Threads may call one program at once. A call that is compiled for keeps up other
// calls that need compiling, and no others. Calls of a program that writes its state
// run one after another; so the state is that of some order of the calls.
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
  // InvalidArgument for a module without @main, an unknown target, and options that
  // do not fit the model. What `options.compile` refers to outlives the program.
  static absl::StatusOr<Program> Create(std::unique_ptr<Module> model, ProgramOptions options = {});
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // The model as it was imported, with the ranges of marks.
  const Module& module() const;
  const Graph& main() const { return *module().main(); }

  // As Session::Run: outputs without the write-backs; empty tensors for inputs that
  // are left out. The forms with a pointer put what the program writes to an input
  // that was given into the caller's tensor, always as another tensor: calls of other
  // threads may still read the one before.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::initializer_list<HostTensor> inputs) {
    return Run(absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }
  absl::StatusOr<std::vector<HostTensor>> Run(std::vector<HostTensor>* inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::map<std::string, HostTensor>* inputs);

  // A call with other tensors for the parameters and buffers named (by the model's
  // name for them, or the input's), as torch.func.functional_call. Nothing is compiled
  // for that, and the state of the program stays as it is. With a pointer, what the
  // call writes to state comes out in `tensors`, under the name given there or else
  // the model's. NotFound for an unknown name lists near ones; InvalidArgument for a
  // tensor of another type.
  absl::StatusOr<std::vector<HostTensor>> FunctionalCall(
      const std::map<std::string, HostTensor>& tensors,
      const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> FunctionalCall(
      std::map<std::string, HostTensor>* tensors, const std::map<std::string, HostTensor>& inputs);

  // The state of the parameter or buffer (or input) of that name.
  std::optional<HostTensor> state(absl::string_view name) const;
  // Errors as for FunctionalCall.
  absl::Status SetState(absl::string_view name, HostTensor tensor);
  // All names, in the order of the inputs: the model's where it has one.
  std::vector<std::string> state_names() const;

  ProgramExplanation Explain() const;

 private:
  class Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_API_PROGRAM_H_
