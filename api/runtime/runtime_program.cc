#include "api/runtime/runtime_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/runtime/compiled_plan.h"
#include "api/runtime/runtime_ops.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/standalone/model_library.h"
#include "backends/cpu/standalone/standalone.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "lowering/plan.h"
#include "lowering/plan_text.h"

namespace weft {

struct RuntimeProgram::Impl {
  std::vector<Input> inputs;
  std::vector<Type> outputs;
  std::vector<int> write_backs;
  std::shared_ptr<const cpu::ModelLibrary> library;  // Null: there is no machine code.
  std::unique_ptr<cpu::Standalone> program;          // Its code is that of the library.
};

RuntimeProgram::RuntimeProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RuntimeProgram::RuntimeProgram(RuntimeProgram&&) noexcept = default;
RuntimeProgram& RuntimeProgram::operator=(RuntimeProgram&&) noexcept = default;
RuntimeProgram::~RuntimeProgram() = default;

absl::StatusOr<RuntimeProgram> RuntimeProgram::Open(const std::string& path,
                                                    const RuntimeProgramOptions& options) {
  return OpenWithOps(path, options, {ParseSelfContainedPlan, nullptr});
}

absl::StatusOr<RuntimeProgram> RuntimeProgram::OpenWithOps(const std::string& path,
                                                           const RuntimeProgramOptions& options,
                                                           const RuntimeOps& ops) {
  auto impl = std::make_unique<Impl>();
  WEFT_ASSIGN_OR_RETURN(const cpu::Isa isa, cpu::ChooseIsa(options.cpu));
  CompiledPlanOptions read;
  read.plan.check_weights = options.check_weights;
  if (options.target == "cpu") read.plan.instruction_sets = cpu::IsasWithin(isa);
  read.allow_code = options.allow_code;
  read.code = options.code;
  WEFT_ASSIGN_OR_RETURN(CompiledPlan compiled,
                        ReadCompiledPlan(path, options.target, read, ops.parse));
  if (options.target != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a plan for ", options.target, " does not run on the CPU"));
  }
  Plan& plan = compiled.plan;
  impl->library = std::move(compiled.library);
  cpu::StandaloneOptions standalone;
  standalone.threads = options.threads;
  standalone.isa = options.cpu;
  standalone.kernels = std::move(compiled.kernels);
  standalone.evaluator = ops.evaluator;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanInput& input = plan.inputs[i];
    impl->inputs.push_back({input.name, input.type, input.read, std::move(compiled.states[i])});
  }
  impl->write_backs = plan.write_backs;
  impl->outputs = plan.outputs;
  impl->outputs.resize(plan.outputs.size() - plan.write_backs.size());
  auto program = cpu::Standalone::Create(std::move(plan), standalone);
  if (!program.ok()) return Annotate(program.status(), path);
  impl->program = *std::move(program);
  return RuntimeProgram(std::move(impl));
}

const std::vector<RuntimeProgram::Input>& RuntimeProgram::inputs() const { return impl_->inputs; }

const std::vector<Type>& RuntimeProgram::outputs() const { return impl_->outputs; }

const std::vector<int>& RuntimeProgram::written_inputs() const { return impl_->write_backs; }

absl::StatusOr<std::vector<HostTensor>> RuntimeProgram::Run(
    absl::Span<const HostTensor> inputs, std::vector<HostTensor>* written) const {
  if (inputs.size() != impl_->inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", impl_->inputs.size(), " inputs, got ", inputs.size()));
  }
  std::vector<HostTensor> outputs;
  WEFT_RETURN_IF_ERROR(impl_->program->Run(inputs, &outputs));
  if (written != nullptr) {
    written->assign(inputs.size(), HostTensor());
    for (size_t i = 0; i < impl_->write_backs.size(); ++i) {
      (*written)[impl_->write_backs[i]] = outputs[impl_->outputs.size() + i];
    }
  }
  outputs.resize(impl_->outputs.size());
  return outputs;
}

int64_t RuntimeProgram::machine_code_steps() const { return impl_->program->generated_steps(); }

}  // namespace weft
