#include "api/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "api/backends.h"
#include "api/call_inputs.h"
#include "api/compiler.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "passes/engine/logs.h"
#include "passes/sizes/needs.h"
#include "profiler/record.h"

namespace weft {

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session::Session(std::unique_ptr<Module> module, const Backend& backend)
    : module_(std::move(module)), backend_(&backend) {
  state_ = InitialState(main());
  device_state_.resize(state_.size());
  device_is_newer_.resize(state_.size(), false);
}

namespace {

LogComponent lowering_log("lowering", "graphs to plans");
LogArtifact plan_log("plan", "plans that graphs were lowered to");

void LogPlan(const Plan& plan) {
  if (plan_log.IsLogged()) Log(plan_log, PrintPlan(plan));
  int counts[5] = {};
  for (const Step& step : plan.steps) {
    ++counts[static_cast<int>(step.kind)];
    const bool slow = step.kind == StepKind::kReference || step.kind == StepKind::kCopy;
    if (!slow || step.remark.empty()) continue;
    Log(perf_hints_log,
        absl::StrCat("node ", step.node, ": ",
                     step.kind == StepKind::kCopy ? "a copy" : "the op's own evaluation", ": ",
                     step.remark));
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.remark.empty()) continue;
    Log(perf_hints_log, absl::StrCat("%", buffer.name, ", the new value of an input, has ",
                                     "memory of its own: ", buffer.remark));
  }
  Log(lowering_log, absl::StrCat("@", plan.name, ": ", counts[0], " kernels, ", counts[1],
                                 " library calls, ", counts[2], " reference steps, ", counts[3],
                                 " copies, ", counts[4], " of control flow"));
}

absl::StatusOr<Plan> MakePlan(Module& module, const Target& target, int64_t* lowering_us) {
  WEFT_RETURN_IF_ERROR(MakeFunctional(module));
  const absl::Time start = absl::Now();
  profiler::Scope lowering(profiler::Activity::kCompilerPass, "lower");
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(*module.main(), target));
  lowering.End();
  *lowering_us = absl::ToInt64Microseconds(absl::Now() - start);
  LogPlan(plan);
  return plan;
}

}  // namespace

absl::StatusOr<Session> Session::Create(std::unique_ptr<Module> module, absl::string_view target,
                                        const BackendOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, BuiltinBackends().Find(target));
  return Create(std::move(module), *backend, options);
}

absl::StatusOr<Session> Session::Create(std::unique_ptr<Module> module, const Backend& backend,
                                        const BackendOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckOptions(backend, options));
  WEFT_RETURN_IF_ERROR(CheckHasMain(*module));
  // Where no pipeline ran, nothing has looked at what nodes assume about sizes.
  WEFT_RETURN_IF_ERROR(AssumeSizesOfNodes(*module).status());
  Session session(std::move(module), backend);
  Plan plan;
  if (backend.runs_plans()) {
    WEFT_ASSIGN_OR_RETURN(plan,
                          MakePlan(*session.module_, backend.target(), &session.lowering_us_));
  }
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "make executable");
  WEFT_ASSIGN_OR_RETURN(session.executable_,
                        backend.Compile(session.main(), std::move(plan), options));
  return session;
}

absl::Status Session::WaitForCode() { return executable_->WaitForCode(); }

Counters Session::counters() const {
  Counters counters = executable_->counters();
  if (lowering_us_ > 0) counters["lowering_us"] = lowering_us_;
  return counters;
}

std::vector<bool> Session::WriteBacks() const {
  std::vector<bool> writes(main().num_inputs(), false);
  for (int input : main().write_backs()) writes[input] = true;
  return writes;
}

std::vector<int> Session::FillIn(const std::vector<bool>& lent, std::vector<HostTensor>* inputs) {
  std::vector<int> filled;
  const int n = std::min<int>(static_cast<int>(inputs->size()), main().num_inputs());
  for (int i = 0; i < n; ++i) {
    if ((*inputs)[i].valid()) continue;
    filled.push_back(i);
    const int value = main().input_info(i).value;
    if (value >= 0) {
      (*inputs)[i] = module_->constants().tensor(value);
    } else if (lent[i]) {
      (*inputs)[i] = std::move(state_[i]);
    } else {
      (*inputs)[i] = state_[i];
    }
  }
  return filled;
}

absl::StatusOr<std::vector<HostTensor>> Session::RunOrdered(std::vector<HostTensor>* inputs,
                                                            bool donate,
                                                            std::vector<HostTensor>* written) {
  const profiler::Scope scope(profiler::Activity::kCpuOp, "session.run");
  WEFT_RETURN_IF_ERROR(FetchState());
  const std::vector<bool> writes = WriteBacks();
  if (backend_->runs_plans() && inputs->size() == writes.size()) {
    WEFT_RETURN_IF_ERROR(CheckApart(main(), *inputs, writes));
  }
  const std::vector<int> filled = FillIn(writes, inputs);
  std::vector<bool> donated(writes.size(), donate);
  for (int i : filled) donated[i] = writes[i];
  auto outputs = RunOnce(*inputs, donated, written);
  for (int i : filled) {
    if (writes[i] && main().input_info(i).value < 0) state_[i] = std::move((*inputs)[i]);
    (*inputs)[i] = HostTensor();
  }
  if (!outputs.ok()) return outputs;
  if (!backend_->runs_plans()) {
    WEFT_RETURN_IF_ERROR(CheckApart(main(), *inputs, AreValid(*written)));
  }
  for (int i : filled) {
    if (!(*written)[i].valid()) continue;
    state_[i] = std::move((*written)[i]);
    (*written)[i] = HostTensor();
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::RunOnce(absl::Span<const HostTensor> inputs,
                                                         const std::vector<bool>& donated,
                                                         std::vector<HostTensor>* written) const {
  std::vector<HostTensor> outputs;
  WEFT_RETURN_IF_ERROR(executable_->Run(inputs, donated, &outputs, written));
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::RunStateless(
    absl::Span<const HostTensor> inputs, std::vector<HostTensor>* written) const {
  return RunOnce(inputs, {}, written);
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(absl::Span<const HostTensor> inputs) {
  std::vector<HostTensor> copies(inputs.begin(), inputs.end());
  std::vector<HostTensor> written;
  return RunOrdered(&copies, /*donate=*/false, &written);
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(std::vector<HostTensor>* inputs) {
  std::vector<HostTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                        RunOrdered(inputs, /*donate=*/true, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) (*inputs)[i] = std::move(written[i]);
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(
    const std::map<std::string, HostTensor>& inputs) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> ordered, OrderInputs(main(), state_, inputs));
  return Run(absl::MakeConstSpan(ordered));
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(std::map<std::string, HostTensor>* inputs) {
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> ordered, OrderInputs(main(), state_, *inputs));
  // Drops other references, so that donated tensors are the only ones on their memory.
  for (auto& [name, tensor] : *inputs) tensor = HostTensor();
  auto outputs = Run(&ordered);
  for (int i = 0; i < main().num_inputs(); ++i) {
    const auto it = inputs->find(main().input_info(i).name);
    if (it != inputs->end()) it->second = std::move(ordered[i]);
  }
  return outputs;
}

const HostTensor* Session::state(absl::string_view name) const {
  const std::vector<int> found = FindState(main(), state_, name);
  return found.empty() || !FetchState().ok() ? nullptr : &state_[found[0]];
}

absl::Status Session::SetState(absl::string_view name, HostTensor tensor) {
  const std::vector<int> found = FindState(main(), state_, name);
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("the program has no state \"", name, "\""));
  }
  WEFT_RETURN_IF_ERROR(CheckState(main(), found[0], name, tensor));
  state_[found[0]] = std::move(tensor);
  device_state_[found[0]] = DeviceTensor();
  device_is_newer_[found[0]] = false;
  return absl::OkStatus();
}

}  // namespace weft
