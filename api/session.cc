#include "api/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/call_inputs.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/core/log.h"
#include "graph/core/status_macros.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "profiler/record.h"

namespace weft {

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session::Session(std::unique_ptr<Module> module) : module_(std::move(module)) {
  state_ = InitialState(main());
}

absl::Status Session::CheckTarget(absl::string_view target) {
  if (target == "reference" || target == "cpu") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unknown target \"", target, "\"; the targets are: reference, cpu"));
}

namespace {

void LogPlan(const Plan& plan) {
  if (IsLogged(LogArtifact::kPlan)) Log(LogArtifact::kPlan, PrintPlan(plan));
  int counts[5] = {};
  for (const Step& step : plan.steps) {
    ++counts[static_cast<int>(step.kind)];
    const bool slow = step.kind == StepKind::kReference || step.kind == StepKind::kCopy;
    if (!slow || step.remark.empty()) continue;
    Log(LogArtifact::kPerfHints,
        absl::StrCat("node ", step.node, ": ",
                     step.kind == StepKind::kCopy ? "a copy" : "the op's own evaluation", ": ",
                     step.remark));
  }
  Log(LogComponent::kLowering,
      absl::StrCat("@", plan.name, ": ", counts[0], " kernels, ", counts[1], " library calls, ",
                   counts[2], " reference steps, ", counts[3], " copies, ", counts[4],
                   " of control flow"));
}

absl::StatusOr<std::unique_ptr<cpu::Executable>> MakeExecutable(Module& module,
                                                                const SessionOptions& options) {
  // A plan is made from a graph without writes.
  if (module.HasWrites()) {
    CompileOptions functional;
    functional.passes = "functionalize";
    auto compiled = Compile(module, functional);
    if (!compiled.ok()) return compiled.status();
  }
  profiler::Scope lowering(profiler::Activity::kCompilerPass, "lower");
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(*module.main(), cpu::CpuLoweringTarget()));
  lowering.End();
  LogPlan(plan);
  cpu::CpuOptions cpu;
  cpu.threads = options.threads;
  cpu.isa = options.cpu;
  cpu.deterministic = options.deterministic;
  cpu.f32_precision = options.f32_precision;
  cpu.code = options.code == SessionOptions::Code::kNone ? cpu::CpuOptions::Code::kNone
             : options.code == SessionOptions::Code::kInBackground
                 ? cpu::CpuOptions::Code::kInBackground
                 : cpu::CpuOptions::Code::kBeforeCreation;
  cpu.compiler = options.compiler;
  cpu.cache_dir = options.cache_dir;
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "make executable");
  return cpu::Executable::Create(*module.main(), std::move(plan), cpu);
}

}  // namespace

absl::StatusOr<Session> Session::Create(std::unique_ptr<Module> module, absl::string_view target,
                                        const SessionOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckTarget(target));
  if (module->main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function @main");
  }
  Session session(std::move(module));
  if (target == "cpu") {
    WEFT_ASSIGN_OR_RETURN(session.cpu_, MakeExecutable(*session.module_, options));
  }
  return session;
}

absl::Status Session::WaitForCode() {
  return cpu_ == nullptr ? absl::OkStatus() : cpu_->WaitForCode();
}

absl::StatusOr<std::vector<HostTensor>> Session::RunOrdered(absl::Span<const HostTensor> given,
                                                            std::vector<HostTensor>* written) {
  std::vector<HostTensor> inputs(given.begin(), given.end());
  const size_t n = std::min<size_t>(inputs.size(), main().num_inputs());
  for (size_t i = 0; i < n; ++i) {
    if (inputs[i].valid()) continue;
    const int value = main().input_info(static_cast<int>(i)).value;
    inputs[i] = value >= 0 ? module_->constants().tensor(value) : state_[i];
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, RunStateless(inputs, written));
  WEFT_RETURN_IF_ERROR(CheckApart(main(), given, *written));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i].valid() || !(*written)[i].valid()) continue;
    state_[i] = std::move((*written)[i]);
    (*written)[i] = HostTensor();
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::RunStateless(
    absl::Span<const HostTensor> inputs, std::vector<HostTensor>* written) const {
  std::vector<HostTensor> outputs;
  const int own = main().num_own_outputs();
  if (cpu_ != nullptr) {
    WEFT_RETURN_IF_ERROR(cpu_->Run(inputs, &outputs));
    written->assign(main().num_inputs(), HostTensor());
    for (size_t k = 0; k < main().write_backs().size(); ++k) {
      (*written)[main().write_backs()[k]] = outputs[own + k];
    }
  } else {
    reference::RunOptions options;
    options.written = written;
    WEFT_ASSIGN_OR_RETURN(outputs, reference::Run(main(), inputs, options));
  }
  outputs.resize(own);
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(absl::Span<const HostTensor> inputs) {
  std::vector<HostTensor> written;
  return RunOrdered(inputs, &written);
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(std::vector<HostTensor>* inputs) {
  std::vector<HostTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, RunOrdered(*inputs, &written));
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
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Run(&ordered));
  for (int i = 0; i < main().num_inputs(); ++i) {
    const auto it = inputs->find(main().input_info(i).name);
    if (it != inputs->end()) it->second = std::move(ordered[i]);
  }
  return outputs;
}

const HostTensor* Session::state(absl::string_view name) const {
  const std::vector<int> found = FindState(main(), state_, name);
  return found.empty() ? nullptr : &state_[found[0]];
}

absl::Status Session::SetState(absl::string_view name, HostTensor tensor) {
  const std::vector<int> found = FindState(main(), state_, name);
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("the program has no state \"", name, "\""));
  }
  WEFT_RETURN_IF_ERROR(CheckState(main(), found[0], name, tensor));
  state_[found[0]] = std::move(tensor);
  return absl::OkStatus();
}

}  // namespace weft
