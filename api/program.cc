#include "api/program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/backends.h"
#include "api/call_inputs.h"
#include "api/program/impl.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "passes/sizes/needs.h"
#include "profiler/record.h"

namespace weft {

bool ProgramImpl::MayWriteState() const {
  for (int input : main().write_backs()) {
    if (main().input_info(input).initial >= 0) return true;
  }
  return model_->HasWrites();
}

const std::string& ProgramImpl::StateName(int input) const {
  const InputInfo& info = main().input_info(input);
  return info.param.empty() ? info.name : info.param;
}

std::vector<std::string> ProgramImpl::state_names() const {
  std::vector<std::string> names;
  for (int i = 0; i < main().num_inputs(); ++i) {
    if (main().input_info(i).initial >= 0) names.push_back(StateName(i));
  }
  return names;
}

absl::StatusOr<std::vector<int>> ProgramImpl::Find(absl::string_view name) const {
  std::vector<int> found;
  {
    absl::MutexLock lock(&mu_);
    found = FindState(main(), state_, name);
  }
  if (!found.empty()) return found;
  for (int i = 0; i < model_->constants().size(); ++i) {
    if (name.empty() || model_->constants().name(i) != name) continue;
    return absl::NotFoundError(
        absl::StrCat("\"", name, "\" is a constant of the program; models that are loaded with ",
                     "parameters_as_inputs have theirs as state"));
  }
  return absl::NotFoundError(absl::StrCat("the program has no parameter or buffer \"", name, "\"",
                                          NearNames(name, state_names())));
}

std::optional<HostTensor> ProgramImpl::state(absl::string_view name) {
  std::optional<absl::MutexLock> in_turn;
  if (!TakeTurn(&in_turn).ok()) return std::nullopt;
  absl::MutexLock lock(&mu_);
  const std::vector<int> found = FindState(main(), state_, name);
  if (found.empty()) return std::nullopt;
  return state_[found[0]];
}

absl::Status ProgramImpl::SetStates(const std::map<std::string, HostTensor>& tensors) {
  std::vector<HostTensor> given(main().num_inputs());
  std::vector<std::string> names(given.size());
  WEFT_RETURN_IF_ERROR(PutTogether(tensors, &given, &names));
  // A run that writes state would put back what it read before.
  std::optional<absl::MutexLock> in_turn;
  if (writes_state_) in_turn.emplace(&run_mu_);
  std::vector<DeviceTensor> dropped;
  {
    absl::MutexLock lock(&mu_);
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].valid()) continue;
      state_[i] = std::move(given[i]);
      dropped.push_back(std::exchange(device_state_[i], DeviceTensor()));
      device_is_newer_[i] = false;
    }
  }
  Release(std::move(dropped));
  return absl::OkStatus();
}

// --- Calls ---------------------------------------------------------------------------

absl::StatusOr<std::vector<HostTensor>> ProgramImpl::Order(
    const std::map<std::string, HostTensor>& inputs) const {
  absl::MutexLock lock(&mu_);
  return OrderInputs(main(), state_, inputs);
}

absl::StatusOr<std::vector<HostTensor>> ProgramImpl::Fill(
    absl::Span<const HostTensor> given) const {
  std::vector<HostTensor> inputs(given.begin(), given.end());
  if (static_cast<int>(inputs.size()) != main().num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", main().num_inputs(), " inputs, got ", inputs.size()));
  }
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid()) continue;
    const int value = main().input_info(static_cast<int>(i)).value;
    inputs[i] = value >= 0 ? model_->constants().tensor(value) : state_[i];
  }
  return inputs;
}

// `inputs`: those that were given, and state.
absl::StatusOr<std::vector<HostTensor>> ProgramImpl::Call(absl::Span<const HostTensor> given,
                                                          absl::Span<const HostTensor> inputs,
                                                          std::vector<HostTensor>* written) {
  const profiler::Scope scope(profiler::Activity::kCpuOp, "program.run");
  WEFT_ASSIGN_OR_RETURN(const VariantCache::Found found, cache_.Get(inputs));
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, found.Run(inputs, written));
  WEFT_RETURN_IF_ERROR(CheckApart(main(), given, AreValid(*written)));
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> ProgramImpl::Run(absl::Span<const HostTensor> given,
                                                         std::vector<HostTensor>* written) {
  std::optional<absl::MutexLock> in_turn;
  if (writes_state_) in_turn.emplace(&run_mu_);
  if (writes_on_device_) WEFT_RETURN_IF_ERROR(FetchState());
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> inputs, Fill(given));
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Call(given, inputs, written));
  std::vector<DeviceTensor> dropped;
  {
    absl::MutexLock lock(&mu_);
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].valid() || !(*written)[i].valid()) continue;
      state_[i] = std::move((*written)[i]);
      (*written)[i] = HostTensor();
      if (!device_state_[i].valid()) continue;
      dropped.push_back(std::exchange(device_state_[i], DeviceTensor()));
    }
  }
  Release(std::move(dropped));
  return outputs;
}

// Sets the tensors among the inputs; `names` is by input.
absl::Status ProgramImpl::PutTogether(const std::map<std::string, HostTensor>& tensors,
                                      std::vector<HostTensor>* given,
                                      std::vector<std::string>* names) const {
  for (const auto& [name, tensor] : tensors) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<int> found, Find(name));
    for (int i : found) {
      WEFT_RETURN_IF_ERROR(CheckState(main(), i, name, tensor));
      if ((*given)[i].valid()) {
        return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is given twice"));
      }
      (*given)[i] = tensor;
      (*names)[i] = name;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> ProgramImpl::FunctionalCall(
    std::map<std::string, HostTensor>* tensors, const std::map<std::string, HostTensor>& inputs) {
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> given, Order(inputs));
  std::vector<std::string> names(given.size());
  WEFT_RETURN_IF_ERROR(PutTogether(*tensors, &given, &names));
  std::vector<HostTensor> written;
  std::vector<HostTensor> filled;
  {
    std::optional<absl::MutexLock> in_turn;
    WEFT_RETURN_IF_ERROR(TakeTurn(&in_turn));
    WEFT_ASSIGN_OR_RETURN(filled, Fill(given));
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Call(given, filled, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    const int input = static_cast<int>(i);
    if (!written[i].valid() || main().input_info(input).initial < 0) continue;
    (*tensors)[names[i].empty() ? StateName(input) : names[i]] = written[i];
  }
  return outputs;
}

// --- Program -------------------------------------------------------------------------

Program::Program(std::unique_ptr<ProgramImpl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

absl::StatusOr<Program> Program::Create(std::unique_ptr<Module> model, ProgramOptions options) {
  WEFT_RETURN_IF_ERROR(CheckHasMain(*model));
  if (options.cache_limit < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a cache limit of ", options.cache_limit, " leaves no variant"));
  }
  WEFT_RETURN_IF_ERROR(AssumeMarkedRanges(*model, options.marks));
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(options));
  WEFT_RETURN_IF_ERROR(CheckOptions(*backend, options.backend));
  SetTarget(*backend, &options.compile);
  const PassRegistry* passes = options.compile.registry;
  WEFT_RETURN_IF_ERROR(
      Pipeline::Parse(options.compile.passes, passes != nullptr ? *passes : BuiltinPasses())
          .status());
  // Assumptions of nodes on sizes become constraints of the program.
  WEFT_RETURN_IF_ERROR(AssumeSizesOfNodes(*model).status());
  auto impl = std::make_unique<ProgramImpl>(std::move(model), *backend, std::move(options));
  WEFT_RETURN_IF_ERROR(impl->Check());
  return Program(std::move(impl));
}

const Module& Program::module() const { return impl_->module(); }

absl::StatusOr<std::vector<HostTensor>> Program::Run(absl::Span<const HostTensor> inputs) {
  std::vector<HostTensor> written;
  return impl_->Run(inputs, &written);
}

absl::StatusOr<std::vector<HostTensor>> Program::Run(std::vector<HostTensor>* inputs) {
  std::vector<HostTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, impl_->Run(*inputs, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) (*inputs)[i] = std::move(written[i]);
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Program::Run(
    const std::map<std::string, HostTensor>& inputs) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> ordered, impl_->Order(inputs));
  return Run(absl::MakeConstSpan(ordered));
}

absl::StatusOr<std::vector<HostTensor>> Program::Run(std::map<std::string, HostTensor>* inputs) {
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> ordered, impl_->Order(*inputs));
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Run(&ordered));
  for (int i = 0; i < main().num_inputs(); ++i) {
    const auto it = inputs->find(main().input_info(i).name);
    if (it != inputs->end()) it->second = std::move(ordered[i]);
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Program::FunctionalCall(
    const std::map<std::string, HostTensor>& tensors,
    const std::map<std::string, HostTensor>& inputs) {
  std::map<std::string, HostTensor> copy = tensors;
  return impl_->FunctionalCall(&copy, inputs);
}

absl::StatusOr<std::vector<HostTensor>> Program::FunctionalCall(
    std::map<std::string, HostTensor>* tensors, const std::map<std::string, HostTensor>& inputs) {
  return impl_->FunctionalCall(tensors, inputs);
}

std::optional<HostTensor> Program::state(absl::string_view name) const {
  return impl_->state(name);
}

absl::Status Program::SetState(absl::string_view name, HostTensor tensor) {
  return impl_->SetStates({{std::string(name), std::move(tensor)}});
}

absl::Status Program::SetStates(const std::map<std::string, HostTensor>& tensors) {
  return impl_->SetStates(tensors);
}

std::vector<std::string> Program::state_names() const { return impl_->state_names(); }

ProgramExplanation Program::Explain() const { return impl_->Explain(); }

}  // namespace weft
