// Runs a module on a target, with inputs by position or by name.
//
// State: an input with an initial value (InputInfo::initial) may be left out.
// The session holds its value, at first the initial one, and keeps what the
// program writes to it for the next run: the buffers and parameters of a model.
//
// Writes: what the program writes to an input that the caller gave goes to the
// caller's tensor in the forms that take a pointer, and nowhere in the others.
// It goes there as another tensor, or, on a target that runs plans, into the memory of the
// one given, which is then the new value: where the plan allows that
// (lowering/write_backs.h), the tensor is dense, no other tensor is on its memory,
// and that is neither borrowed nor mapped from a file. The same holds for state: a
// copy of the tensor that state() gives keeps its value, its bytes may be written
// over. Whoever wants to keep the old value of an input keeps a tensor on it.
//
// Errors leave tensors and state as they were, as long as they depend on the inputs
// (assertions, indices, shapes): what can fail so runs before anything is written
// over. Only memory that runs out later may leave some of them written.
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
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;

class Session {
 public:
  // `target` is the name of a built-in backend (backends.h); InvalidArgument lists them for another
  // name, and what a backend takes for an option that it does not have. A module that writes is
  // made functional for a backend that runs plans.
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

  // Those of the executable; "lowering_us" is the time to make the plan, in microseconds.
  Counters counters() const;

  // The state of the inputs that stand for the parameter or buffer `name`, or
  // are called so; null when there is none.
  const HostTensor* state(absl::string_view name) const;
  // The tensor must have the type of the input; NotFound for an unknown name.
  absl::Status SetState(absl::string_view name, HostTensor tensor);

 private:
  Session(std::unique_ptr<Module> module, const Backend& backend);
  // Runs on `inputs`, in which those that are left out are filled in meanwhile; puts
  // what was written to state into the state, and into `written`, by input, what was
  // written to others. With `donate` these are the program's to write over; it then
  // leaves out of `written` what lies there.
  absl::StatusOr<std::vector<HostTensor>> RunOrdered(std::vector<HostTensor>* inputs, bool donate,
                                                     std::vector<HostTensor>* written);
  // Where `lent` says so, state is moved and not copied.
  std::vector<int> FillIn(const std::vector<bool>& lent, std::vector<HostTensor>* inputs);
  absl::StatusOr<std::vector<HostTensor>> RunOnce(absl::Span<const HostTensor> inputs,
                                                  const std::vector<bool>& donated,
                                                  std::vector<HostTensor>* written) const;

  std::unique_ptr<Module> module_;
  const Backend* backend_ = nullptr;
  std::unique_ptr<Executable> executable_;
  int64_t lowering_us_ = 0;
  std::vector<HostTensor> state_;  // By input; empty without state.
};

}  // namespace weft

#endif  // WEFT_API_SESSION_H_
