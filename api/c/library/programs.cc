// Programs that are compiled from modules, and plans of files with all ops.
#include "api/c/entries/programs.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/c/entries/errors.h"
#include "api/c/entries/plan_program.h"
#include "api/c/library/entries.h"
#include "api/c/library/extensions.h"
#include "api/c/library/modules.h"
#include "api/compiled_program.h"
#include "api/program.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"

namespace weft::c {
namespace {

class CompiledModule : public Runnable {
 public:
  CompiledModule(ExtensionsRef extensions, Program program)
      : extensions_(std::move(extensions)), program_(std::move(program)) {}

  absl::StatusOr<Tensors> Run(const Tensors& inputs) override { return program_.Run(inputs); }
  absl::StatusOr<Tensors> RunNamed(const NamedTensors& inputs) override {
    return program_.Run(inputs);
  }
  absl::StatusOr<Tensors> FunctionalCall(const NamedTensors& state,
                                         const NamedTensors& inputs) override {
    return program_.FunctionalCall(state, inputs);
  }
  absl::StatusOr<HostTensor> State(const std::string& name) const override {
    std::optional<HostTensor> state = program_.state(name);
    if (state) return *std::move(state);
    return absl::NotFoundError(
        absl::StrCat("the program has no parameter or buffer \"", name, "\""));
  }
  absl::Status SetStates(const NamedTensors& states) override { return program_.SetStates(states); }
  std::string Explain() const override { return program_.Explain().ToString(); }

  Program* program() { return &program_; }

 private:
  const ExtensionsRef extensions_;  // Null: none. Outlives the program.
  Program program_;
};

void Describe(const Graph& main, weft_program* program) {
  for (int i = 0; i < main.num_inputs(); ++i) {
    const InputInfo& info = main.input_info(i);
    program->inputs.push_back(
        MakeValue(info.name, main.input(i)->type(), info.initial >= 0 || info.value >= 0));
  }
  const std::vector<std::string>& names = main.output_names();
  for (int i = 0; i < main.num_own_outputs(); ++i) {
    program->outputs.push_back(MakeValue(i < static_cast<int>(names.size()) ? names[i] : "",
                                         main.output(i)->type(), /*optional=*/false));
  }
}

bool MayKeepInputs(const Program& program) {
  return !program.state_names().empty() &&
         (!program.main().write_backs().empty() || program.module().HasWrites());
}

absl::StatusOr<ProgramOptions> ProgramOptionsFrom(const weft_program_options& given) {
  ProgramOptions options;
  options.target = given.target != nullptr ? given.target : "cpu";
  if (given.passes != nullptr) options.compile.passes = given.passes;
  if (given.dynamic != nullptr) {
    const std::optional<Dynamic> dynamic = ParseDynamic(given.dynamic);
    if (!dynamic) {
      return absl::InvalidArgumentError(
          absl::StrCat("dynamic is \"", given.dynamic, "\", not automatic, static or symbolic"));
    }
    options.dynamic = *dynamic;
  }
  if (given.num_options > 0) WEFT_RETURN_IF_ERROR(CheckGiven(given.options, "options"));
  for (size_t i = 0; i < given.num_options; ++i) {
    const weft_option& option = given.options[i];
    WEFT_RETURN_IF_ERROR(CheckGiven(option.name, absl::StrCat("options[", i, "].name")));
    WEFT_RETURN_IF_ERROR(CheckGiven(option.value, absl::StrCat("options[", i, "].value")));
    options.backend[option.name] = option.value;
  }
  return options;
}

}  // namespace

weft_error* ProgramCreate(const weft_module* module, const weft_program_options* options,
                          weft_program** program) {
  return Guarded("program_create", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    *program = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    WEFT_ASSIGN_OR_RETURN(const weft_program_options given, OptionsFrom(options));
    WEFT_ASSIGN_OR_RETURN(ProgramOptions compile, ProgramOptionsFrom(given));
    UseExtensions(module->extensions, &compile.compile);
    WEFT_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(compile));
    WEFT_ASSIGN_OR_RETURN(Program compiled,
                          Program::Create(module->value->Clone(), std::move(compile)));
    auto made = std::make_unique<weft_program>();
    Describe(compiled.main(), made.get());
    made->states = compiled.state_names();
    made->runs_plans = backend->runs_plans();
    made->copies_inputs = !made->runs_plans && MayKeepInputs(compiled);
    auto runnable = std::make_unique<CompiledModule>(module->extensions, std::move(compiled));
    made->compiled = runnable->program();
    made->runnable = std::move(runnable);
    *program = made.release();
    return absl::OkStatus();
  });
}

weft_error* ProgramOpen(const char* path, const weft_plan_options* options,
                        weft_program** program) {
  return OpenProgram(path, options, program, CompiledProgram::Open);
}

}  // namespace weft::c
