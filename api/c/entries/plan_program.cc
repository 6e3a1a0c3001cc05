#include "api/c/entries/plan_program.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "api/c/entries/errors.h"
#include "api/c/entries/programs.h"
#include "base/status_macros.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft::c {
namespace {

// Sizes that the type leaves open are checked by a run.
bool MayHave(const Type& type, const HostTensor& tensor) {
  if (!type.is_tensor()) return tensor.dtype() == DType::kI64 && tensor.rank() == 0;
  if (type.dtype() != tensor.dtype() || type.rank() != tensor.rank()) return false;
  for (int i = 0; i < tensor.rank(); ++i) {
    const SymInt dim = type.dim(i);
    if (dim.is_constant() && dim.value() != tensor.dim(i)) return false;
  }
  return true;
}

// A tensor for an input that the plan does not read, and that may have any size; not valid for
// others.
HostTensor Unread(const RuntimeProgram::Input& input) {
  if (input.read || !input.type.is_tensor()) return HostTensor();
  for (const SymInt dim : input.type.dims()) {
    // Other sizes may follow from this one.
    if (!dim.is_constant()) return HostTensor();
  }
  return HostTensor(input.type.dtype(), std::vector<int64_t>(input.type.rank(), 0));
}

class PlanProgram : public Runnable {
 public:
  explicit PlanProgram(RuntimeProgram program)
      : program_(std::move(program)),
        unread_(program_.inputs().size()),
        states_(program_.inputs().size()) {
    const std::vector<RuntimeProgram::Input>& inputs = program_.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].name.empty()) indices_.emplace(inputs[i].name, i);
      states_[i] = inputs[i].initial;
      unread_[i] = Unread(inputs[i]);
    }
  }

  absl::StatusOr<Tensors> Run(const Tensors& inputs) override {
    std::optional<absl::MutexLock> in_turn;
    if (!program_.written_inputs().empty()) in_turn.emplace(&run_mu_);
    WEFT_ASSIGN_OR_RETURN(const Tensors all, Filled(inputs));
    Tensors written;
    WEFT_ASSIGN_OR_RETURN(Tensors outputs, program_.Run(all, &written));
    absl::MutexLock lock(&mu_);
    for (const int i : program_.written_inputs()) {
      // No output has its memory: each output of a plan is a buffer of its own.
      if (written[i].valid() && states_[i].valid()) std::swap(states_[i], written[i]);
    }
    return outputs;
  }

  absl::StatusOr<Tensors> RunNamed(const NamedTensors& inputs) override {
    WEFT_ASSIGN_OR_RETURN(const Tensors placed, Placed(inputs));
    return Run(placed);
  }

  absl::StatusOr<Tensors> FunctionalCall(const NamedTensors& state,
                                         const NamedTensors& inputs) override {
    WEFT_ASSIGN_OR_RETURN(Tensors placed, Placed(state));
    WEFT_ASSIGN_OR_RETURN(Tensors given, Placed(inputs));
    for (size_t i = 0; i < placed.size(); ++i) {
      if (given[i].valid()) placed[i] = std::move(given[i]);
    }
    WEFT_ASSIGN_OR_RETURN(const Tensors all, Filled(placed));
    return program_.Run(all);
  }

  absl::StatusOr<HostTensor> State(const std::string& name) const override {
    WEFT_ASSIGN_OR_RETURN(const size_t index, IndexOf(name));
    absl::MutexLock lock(&mu_);
    if (states_[index].valid()) return states_[index];
    return absl::NotFoundError(absl::StrCat("state \"", name, "\" has not been set"));
  }

  absl::Status SetStates(const NamedTensors& states) override {
    WEFT_ASSIGN_OR_RETURN(Tensors placed, Placed(states));
    for (size_t i = 0; i < placed.size(); ++i) {
      const RuntimeProgram::Input& input = program_.inputs()[i];
      if (!placed[i].valid()) continue;
      if (!input.read) {
        return absl::FailedPreconditionError(
            absl::StrCat("the plan does not read \"", input.name, "\""));
      }
      if (MayHave(input.type, placed[i])) continue;
      return absl::InvalidArgumentError(absl::StrCat("state \"", input.name, "\" has type ",
                                                     input.type.ToString(), ", not ",
                                                     placed[i].type().ToString()));
    }
    // A run that writes state would put back what it read before.
    std::optional<absl::MutexLock> in_turn;
    if (!program_.written_inputs().empty()) in_turn.emplace(&run_mu_);
    absl::MutexLock lock(&mu_);
    for (size_t i = 0; i < placed.size(); ++i) {
      // The former tensor goes to `placed`, whose deleters run after the lock.
      if (placed[i].valid()) std::swap(states_[i], placed[i]);
    }
    return absl::OkStatus();
  }

  std::string Explain() const override {
    return "a plan of a file, for all sizes that it admits\n";
  }

 private:
  absl::StatusOr<size_t> IndexOf(const std::string& name) const {
    const auto it = indices_.find(name);
    if (it != indices_.end()) return it->second;
    return absl::NotFoundError(absl::StrCat("the program has no input \"", name, "\""));
  }

  // By input; the others are not valid.
  absl::StatusOr<Tensors> Placed(const NamedTensors& named) const {
    Tensors placed(program_.inputs().size());
    for (const auto& [name, tensor] : named) {
      WEFT_ASSIGN_OR_RETURN(const size_t index, IndexOf(name));
      placed[index] = tensor;
    }
    return placed;
  }

  // The inputs, with the state of those that are left out.
  absl::StatusOr<Tensors> Filled(Tensors inputs) const {
    absl::MutexLock lock(&mu_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].valid()) inputs[i] = states_[i].valid() ? states_[i] : unread_[i];
      if (inputs[i].valid()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("no tensor for ", InputText(program_.inputs()[i].name, i)));
    }
    return inputs;
  }

  const RuntimeProgram program_;
  absl::flat_hash_map<std::string, size_t> indices_;  // Of inputs, by name.
  Tensors unread_;      // By input: what stands for one that the plan does not read, or not valid.
  absl::Mutex run_mu_;  // Held by runs that may write the state, and by writers of it.
  mutable absl::Mutex mu_;
  Tensors states_ ABSL_GUARDED_BY(mu_);  // By input; not valid until it is set.
};

absl::StatusOr<bool> ChecksWeights(const char* given) {
  const absl::string_view name = given != nullptr ? given : "all";
  if (name == "all" || name == "none") return name == "all";
  return absl::InvalidArgumentError(
      absl::StrCat("check_weights is \"", name, "\", not all or none"));
}

absl::StatusOr<RuntimeProgramOptions> RuntimeOptionsFrom(const weft_plan_options* options) {
  WEFT_ASSIGN_OR_RETURN(const weft_plan_options given, OptionsFrom(options));
  RuntimeProgramOptions open;
  if (given.target != nullptr) open.target = given.target;
  if (given.threads != 0) open.threads = given.threads;
  if (given.cpu != nullptr) open.cpu = given.cpu;
  open.allow_code = given.allow_code != 0;
  WEFT_ASSIGN_OR_RETURN(open.check_weights, ChecksWeights(given.check_weights));
  return open;
}

}  // namespace

weft_error* OpenProgram(const char* path, const weft_plan_options* options, weft_program** program,
                        PlanOpener open) {
  return Guarded("program_open", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    *program = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(path, "path"));
    WEFT_ASSIGN_OR_RETURN(const RuntimeProgramOptions given, RuntimeOptionsFrom(options));
    WEFT_ASSIGN_OR_RETURN(RuntimeProgram plan, open(path, given));
    auto made = std::make_unique<weft_program>();
    for (const RuntimeProgram::Input& input : plan.inputs()) {
      made->inputs.push_back(
          MakeValue(input.name, input.type, input.initial.valid() || Unread(input).valid()));
      if (!input.name.empty() && input.read) made->states.push_back(input.name);
    }
    for (const Type& type : plan.outputs()) {
      made->outputs.push_back(MakeValue("", type, /*optional=*/false));
    }
    made->takes_states = true;
    made->runnable = std::make_unique<PlanProgram>(std::move(plan));
    *program = made.release();
    return absl::OkStatus();
  });
}

}  // namespace weft::c
