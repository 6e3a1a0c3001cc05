// Runs a module on a target, with inputs by position or by name.
//
// State: an input with an initial value (InputInfo::initial) may be left out.
// The session holds its value, at first the initial one, and keeps what the
// program writes to it for the next run: the buffers and parameters of a model.
//
// Writes: what the program writes to an input that the caller gave goes to the
// caller's tensor in the forms that take a pointer, and nowhere in the others.
// It goes there as another tensor, or, on the target "cpu", into the memory of the
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
#include "api/session_options.h"
#include "graph/ir/graph.h"
#include "graph/tensor/tensor.h"

namespace weft {

namespace cpu {
class Executable;
}  // namespace cpu

// What a session made of its program; all zero for a target without plans.
struct SessionStats {
  double lowering_seconds = 0;
  // Of writing and compiling kernels, or of finding them in the cache; 0 until they are
  // there.
  double code_seconds = 0;
  bool code_from_cache = false;
  int64_t kernels = 0;
  int64_t generated_kernels = 0;  // That have compiled code.
  int64_t steps = 0;              // Kernels, library calls, copies.
  // Sizes of the inputs that a run met for the first time.
  int64_t assignments = 0;
  // Library steps without a routine for their sizes.
  int64_t fallbacks = 0;
  int64_t packed_bytes = 0;
  int64_t arena_bytes = 0;
};

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

  SessionStats stats() const;

  // The state of the inputs that stand for the parameter or buffer `name`, or
  // are called so; null when there is none.
  const HostTensor* state(absl::string_view name) const;
  // The tensor must have the type of the input; NotFound for an unknown name.
  absl::Status SetState(absl::string_view name, HostTensor tensor);

 private:
  explicit Session(std::unique_ptr<Module> module);
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
  std::unique_ptr<cpu::Executable> cpu_;  // Null: the reference executor.
  double lowering_seconds_ = 0;
  std::vector<HostTensor> state_;  // By input; empty without state.
};

}  // namespace weft

#endif  // WEFT_API_SESSION_H_
