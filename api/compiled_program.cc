#include "api/compiled_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/standalone/standalone.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "lowering/plan.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_plan.h"

namespace weft {

struct CompiledProgram::Impl {
  std::vector<Input> inputs;
  std::vector<Type> outputs;
  std::vector<int> write_backs;
  std::unique_ptr<cpu::Standalone> program;
};

CompiledProgram::CompiledProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CompiledProgram::CompiledProgram(CompiledProgram&&) noexcept = default;
CompiledProgram& CompiledProgram::operator=(CompiledProgram&&) noexcept = default;
CompiledProgram::~CompiledProgram() = default;

absl::StatusOr<CompiledProgram> CompiledProgram::Open(const std::string& path,
                                                      const CompiledProgramOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const auto file, WeftbFile::Open(path));
  WEFT_ASSIGN_OR_RETURN(Plan plan, ReadPlanFromWeftb(*file, "main", options.target));
  auto impl = std::make_unique<Impl>();
  for (const PlanInput& input : plan.inputs) impl->inputs.push_back({input.name, input.type});
  impl->write_backs = plan.write_backs;
  impl->outputs = plan.outputs;
  impl->outputs.resize(plan.outputs.size() - plan.write_backs.size());
  cpu::StandaloneOptions standalone;
  standalone.threads = options.threads;
  auto program = cpu::Standalone::Create(std::move(plan), standalone);
  if (!program.ok()) return Annotate(program.status(), path);
  impl->program = *std::move(program);
  return CompiledProgram(std::move(impl));
}

const std::vector<CompiledProgram::Input>& CompiledProgram::inputs() const { return impl_->inputs; }

const std::vector<Type>& CompiledProgram::outputs() const { return impl_->outputs; }

absl::StatusOr<std::vector<HostTensor>> CompiledProgram::Run(
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

}  // namespace weft
