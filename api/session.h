// Runs a module on a target, with inputs by position or by name.
//
// State: an input with an initial value (InputInfo::initial) may be left out.
// The session holds its value, at first the initial one, and keeps what the
// program writes to it for the next run: the buffers and parameters of a model.
//
// Writes: what the program writes to an input that the caller gave goes to the
// caller's tensor in the forms that take a pointer, and nowhere in the others.
// It goes there as another tensor; the bytes of the one given are not touched.
#ifndef WEFT_API_SESSION_H_
#define WEFT_API_SESSION_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/session_options.h"
#include "graph/core/graph.h"
#include "graph/core/tensor.h"

namespace weft {

namespace cpu {
class Executable;
}  // namespace cpu

class Session {
 public:
  // `target`: "reference" or "cpu". InvalidArgument lists the targets for another
  // name. A program that writes is made functional for "cpu".
  static absl::StatusOr<Session> Create(std::unique_ptr<Module> module, absl::string_view target,
                                        const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // OK for a target that Create() knows.
  static absl::Status CheckTarget(absl::string_view target);

  const Module& module() const { return *module_; }
  const Graph& main() const { return *module_->main(); }

  // Every call checks the inputs against the signature: dtypes, shapes, facts
  // about symbols, values that the program was specialised to; and that no input
  // that is written shares memory with another. Returns the outputs without the
  // write-backs. Empty tensors stand for inputs that are left out: those with
  // state and those that the program is specialised to.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::initializer_list<HostTensor> inputs) {
    return Run(absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }
  absl::StatusOr<std::vector<HostTensor>> Run(std::vector<HostTensor>* inputs);
  // Errors name unknown and missing inputs.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::map<std::string, HostTensor>* inputs);

  // One run apart from the state: every input is given, and what the program writes
  // to inputs comes out in `written`, by input. Several threads may do so at once.
  absl::StatusOr<std::vector<HostTensor>> RunStateless(absl::Span<const HostTensor> inputs,
                                                       std::vector<HostTensor>* written) const;

  // Until kernels are compiled, where the options ask for that; why they are not, and
  // an interpreter goes on, when it failed.
  absl::Status WaitForCode();

  // The state of the inputs that stand for the parameter or buffer `name`, or
  // are called so; null when there is none.
  const HostTensor* state(absl::string_view name) const;
  // The tensor must have the type of the input; NotFound for an unknown name.
  absl::Status SetState(absl::string_view name, HostTensor tensor);

 private:
  explicit Session(std::unique_ptr<Module> module);
  // Outputs; and by input what was written to those that were given.
  absl::StatusOr<std::vector<HostTensor>> RunOrdered(absl::Span<const HostTensor> inputs,
                                                     std::vector<HostTensor>* written);

  std::unique_ptr<Module> module_;
  std::unique_ptr<cpu::Executable> cpu_;  // Null: the reference executor.
  std::vector<HostTensor> state_;         // By input; empty without state.
};

}  // namespace weft

#endif  // WEFT_API_SESSION_H_
