#include "api/c/library/programs.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/c/library/entries.h"
#include "api/c/library/errors.h"
#include "api/c/library/modules.h"
#include "api/c/library/tensors.h"
#include "api/c/library/texts.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_int.h"

namespace weft::c {
namespace {

using Tensors = std::vector<HostTensor>;
using NamedTensors = std::map<std::string, HostTensor>;

std::unique_ptr<Value> ValueFrom(std::string name, Type type, bool optional) {
  auto value = std::make_unique<Value>();
  value->name = std::move(name);
  value->type = type.ToString();
  DType dtype = DType::kI64;
  if (type.is_tensor()) {
    dtype = type.dtype();
    for (const SymInt dim : type.dims()) {
      value->shape.push_back(dim.is_constant() ? dim.value() : -1);
    }
  }
  value->info.name = value->name.c_str();
  value->info.type = value->type.c_str();
  value->info.dtype = TypeFrom(dtype);
  value->info.ndim = static_cast<int32_t>(value->shape.size());
  value->info.shape = value->shape.data();
  value->info.optional = optional ? 1 : 0;
  return value;
}

void Describe(const Graph& main, weft_program* program) {
  for (int i = 0; i < main.num_inputs(); ++i) {
    const InputInfo& info = main.input_info(i);
    program->inputs.push_back(
        ValueFrom(info.name, main.input(i)->type(), info.initial >= 0 || info.value >= 0));
  }
  const std::vector<std::string>& names = main.output_names();
  for (int i = 0; i < main.num_own_outputs(); ++i) {
    program->outputs.push_back(ValueFrom(i < static_cast<int>(names.size()) ? names[i] : "",
                                         main.output(i)->type(), /*optional=*/false));
  }
}

const weft_value_info* InfoAt(const std::vector<std::unique_ptr<Value>>& values, size_t index) {
  return index < values.size() ? &values[index]->info : nullptr;
}

absl::Status CheckOutputs(const weft_program& program, weft_managed_tensor** outputs,
                          size_t num_outputs) {
  if (num_outputs != program.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has ", program.outputs.size(),
                                                   " outputs, and there is room for ",
                                                   num_outputs));
  }
  if (num_outputs > 0) WEFT_RETURN_IF_ERROR(CheckGiven(outputs, "outputs"));
  return absl::OkStatus();
}

void Clear(weft_managed_tensor** outputs, size_t num_outputs) {
  if (outputs != nullptr) std::fill(outputs, outputs + num_outputs, nullptr);
}

// Gives the outputs away. They must not stand on the caller's memory, which the program borrowed
// for the time of the run.
void GiveOutputs(const weft_program& program, Tensors tensors,
                 const absl::flat_hash_set<const HostBuffer*>& borrowed,
                 weft_managed_tensor** outputs) {
  for (HostTensor& tensor : tensors) {
    if (borrowed.contains(tensor.buffer().get())) tensor = CopyTensor(tensor);
  }
  std::vector<OwnedTensor> given;
  for (HostTensor& tensor : tensors) {
    const bool shared = !program.runs_plans && tensor.buffer().use_count() > 1;
    given.push_back(GiveTensor(std::move(tensor), shared));
  }
  for (size_t i = 0; i < given.size(); ++i) outputs[i] = given[i].release();
}

// The tensors of a run, and the memory that they borrow.
class Borrowed {
 public:
  explicit Borrowed(bool copies) : copies_(copies) {}

  absl::StatusOr<HostTensor> Add(const weft_tensor& tensor, absl::string_view name) {
    WEFT_ASSIGN_OR_RETURN(HostTensor view, BorrowTensor(tensor, name));
    if (copies_) return CopyTensor(view);
    buffers_.insert(view.buffer().get());
    return view;
  }

  absl::StatusOr<NamedTensors> AddAll(const weft_named_tensor* tensors, size_t count,
                                      absl::string_view parameter) {
    if (count > 0) WEFT_RETURN_IF_ERROR(CheckGiven(tensors, parameter));
    NamedTensors named;
    for (size_t i = 0; i < count; ++i) {
      WEFT_RETURN_IF_ERROR(CheckGiven(tensors[i].name, absl::StrCat(parameter, "[", i, "].name")));
      const std::string name = tensors[i].name;
      if (tensors[i].tensor == nullptr) continue;  // Left out.
      WEFT_ASSIGN_OR_RETURN(HostTensor tensor,
                            Add(*tensors[i].tensor, absl::StrCat("\"", name, "\"")));
      if (!named.emplace(name, std::move(tensor)).second) {
        return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is given twice"));
      }
    }
    return named;
  }

  const absl::flat_hash_set<const HostBuffer*>& buffers() const { return buffers_; }

 private:
  const bool copies_;
  absl::flat_hash_set<const HostBuffer*> buffers_;
};

std::string NameOf(const weft_program& program, size_t input) {
  const std::string& name = program.inputs[input]->name;
  return name.empty() ? absl::StrCat("input ", input) : absl::StrCat("\"", name, "\"");
}

absl::StatusOr<Tensors> RunPlanNamed(const weft_program& program, NamedTensors named) {
  Tensors inputs;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const auto it = named.find(program.inputs[i]->name);
    if (it == named.end()) {
      return absl::InvalidArgumentError(absl::StrCat("no tensor for ", NameOf(program, i)));
    }
    inputs.push_back(std::move(it->second));
    named.erase(it);
  }
  if (named.empty()) return program.plan->Run(inputs);
  return absl::InvalidArgumentError(
      absl::StrCat("the program has no input \"", named.begin()->first, "\""));
}

absl::Status CheckHasState(const weft_program* program) {
  WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
  if (program->compiled) return absl::OkStatus();
  return absl::FailedPreconditionError("a plan has no state; program_create compiles a module");
}

bool MayKeepInputs(const Program& program) {
  return !program.state_names().empty() &&
         (!program.main().write_backs().empty() || program.module().HasWrites());
}

absl::StatusOr<bool> ChecksWeights(const char* given) {
  const absl::string_view name = given != nullptr ? given : "all";
  if (name == "all" || name == "none") return name == "all";
  return absl::InvalidArgumentError(
      absl::StrCat("check_weights is \"", name, "\", not all or none"));
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
    made->extensions = module->extensions;
    Describe(compiled.main(), made.get());
    made->states = compiled.state_names();
    made->runs_plans = backend->runs_plans();
    made->copies_inputs = !made->runs_plans && MayKeepInputs(compiled);
    made->compiled = std::move(compiled);
    *program = made.release();
    return absl::OkStatus();
  });
}

weft_error* ProgramOpen(const char* path, const weft_plan_options* options,
                        weft_program** program) {
  return Guarded("program_open", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    *program = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(path, "path"));
    WEFT_ASSIGN_OR_RETURN(const weft_plan_options given, OptionsFrom(options));
    CompiledProgramOptions open;
    if (given.target != nullptr) open.target = given.target;
    if (given.threads != 0) open.threads = given.threads;
    if (given.cpu != nullptr) open.cpu = given.cpu;
    open.allow_code = given.allow_code != 0;
    WEFT_ASSIGN_OR_RETURN(open.check_weights, ChecksWeights(given.check_weights));
    WEFT_ASSIGN_OR_RETURN(CompiledProgram plan, CompiledProgram::Open(path, open));
    auto made = std::make_unique<weft_program>();
    for (const CompiledProgram::Input& input : plan.inputs()) {
      made->inputs.push_back(ValueFrom(input.name, input.type, /*optional=*/false));
    }
    for (const Type type : plan.outputs()) {
      made->outputs.push_back(ValueFrom("", type, /*optional=*/false));
    }
    made->plan = std::move(plan);
    *program = made.release();
    return absl::OkStatus();
  });
}

void ProgramDestroy(weft_program* program) { delete program; }

size_t ProgramNumInputs(const weft_program* program) {
  return program == nullptr ? 0 : program->inputs.size();
}

size_t ProgramNumOutputs(const weft_program* program) {
  return program == nullptr ? 0 : program->outputs.size();
}

const weft_value_info* ProgramInput(const weft_program* program, size_t index) {
  return program == nullptr ? nullptr : InfoAt(program->inputs, index);
}

const weft_value_info* ProgramOutput(const weft_program* program, size_t index) {
  return program == nullptr ? nullptr : InfoAt(program->outputs, index);
}

weft_error* ProgramRun(weft_program* program, const weft_tensor* const* inputs, size_t num_inputs,
                       weft_managed_tensor** outputs, size_t num_outputs) {
  return Guarded("program_run", [&]() -> absl::Status {
    Clear(outputs, num_outputs);
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    WEFT_RETURN_IF_ERROR(CheckOutputs(*program, outputs, num_outputs));
    if (num_inputs != program->inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program takes ", program->inputs.size(), " inputs, got ", num_inputs));
    }
    if (num_inputs > 0) WEFT_RETURN_IF_ERROR(CheckGiven(inputs, "inputs"));
    Borrowed borrowed(program->copies_inputs);
    Tensors tensors(num_inputs);
    for (size_t i = 0; i < num_inputs; ++i) {
      if (inputs[i] != nullptr) {
        WEFT_ASSIGN_OR_RETURN(tensors[i], borrowed.Add(*inputs[i], NameOf(*program, i)));
      } else if (program->inputs[i]->info.optional == 0) {
        return absl::InvalidArgumentError(absl::StrCat("no tensor for ", NameOf(*program, i)));
      }
    }
    WEFT_ASSIGN_OR_RETURN(Tensors results, program->compiled ? program->compiled->Run(tensors)
                                                             : program->plan->Run(tensors));
    tensors.clear();
    GiveOutputs(*program, std::move(results), borrowed.buffers(), outputs);
    return absl::OkStatus();
  });
}

weft_error* ProgramRunNamed(weft_program* program, const weft_named_tensor* inputs,
                            size_t num_inputs, weft_managed_tensor** outputs, size_t num_outputs) {
  return Guarded("program_run_named", [&]() -> absl::Status {
    Clear(outputs, num_outputs);
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    WEFT_RETURN_IF_ERROR(CheckOutputs(*program, outputs, num_outputs));
    Borrowed borrowed(program->copies_inputs);
    WEFT_ASSIGN_OR_RETURN(NamedTensors named, borrowed.AddAll(inputs, num_inputs, "inputs"));
    WEFT_ASSIGN_OR_RETURN(Tensors results, program->compiled ? program->compiled->Run(named)
                                                             : RunPlanNamed(*program, named));
    named.clear();
    GiveOutputs(*program, std::move(results), borrowed.buffers(), outputs);
    return absl::OkStatus();
  });
}

weft_error* ProgramFunctionalCall(weft_program* program, const weft_named_tensor* state,
                                  size_t num_state, const weft_named_tensor* inputs,
                                  size_t num_inputs, weft_managed_tensor** outputs,
                                  size_t num_outputs) {
  return Guarded("program_functional_call", [&]() -> absl::Status {
    Clear(outputs, num_outputs);
    WEFT_RETURN_IF_ERROR(CheckHasState(program));
    WEFT_RETURN_IF_ERROR(CheckOutputs(*program, outputs, num_outputs));
    Borrowed borrowed(/*copies=*/false);
    WEFT_ASSIGN_OR_RETURN(NamedTensors tensors, borrowed.AddAll(state, num_state, "state"));
    WEFT_ASSIGN_OR_RETURN(NamedTensors named, borrowed.AddAll(inputs, num_inputs, "inputs"));
    WEFT_ASSIGN_OR_RETURN(Tensors results,
                          program->compiled->FunctionalCall(std::as_const(tensors), named));
    tensors.clear();
    named.clear();
    GiveOutputs(*program, std::move(results), borrowed.buffers(), outputs);
    return absl::OkStatus();
  });
}

size_t ProgramNumStates(const weft_program* program) {
  return program == nullptr ? 0 : program->states.size();
}

const char* ProgramStateName(const weft_program* program, size_t index) {
  if (program == nullptr || index >= program->states.size()) return nullptr;
  return program->states[index].c_str();
}

weft_error* ProgramState(const weft_program* program, const char* name,
                         weft_managed_tensor** tensor) {
  return Guarded("program_state", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(tensor, "tensor"));
    *tensor = nullptr;
    WEFT_RETURN_IF_ERROR(CheckHasState(program));
    WEFT_RETURN_IF_ERROR(CheckGiven(name, "name"));
    std::optional<HostTensor> state = program->compiled->state(name);
    if (!state) {
      return absl::NotFoundError(
          absl::StrCat("the program has no parameter or buffer \"", name, "\""));
    }
    *tensor = GiveTensor(*std::move(state), /*read_only=*/true).release();
    return absl::OkStatus();
  });
}

weft_error* ProgramSetStates(weft_program* program, const weft_named_state* states,
                             size_t num_states) {
  return Guarded("program_set_states", [&]() -> absl::Status {
    if (num_states > 0) WEFT_RETURN_IF_ERROR(CheckGiven(states, "states"));
    // They are ours now, whatever happens.
    std::vector<OwnedTensor> owned(num_states);
    for (size_t i = 0; i < num_states; ++i) owned[i].reset(states[i].tensor);
    WEFT_RETURN_IF_ERROR(CheckHasState(program));
    NamedTensors named;
    for (size_t i = 0; i < num_states; ++i) {
      WEFT_RETURN_IF_ERROR(CheckGiven(states[i].name, absl::StrCat("states[", i, "].name")));
      WEFT_RETURN_IF_ERROR(CheckGiven(owned[i].get(), absl::StrCat("states[", i, "].tensor")));
      const std::string name = states[i].name;
      WEFT_ASSIGN_OR_RETURN(HostTensor tensor,
                            TakeTensor(std::move(owned[i]), absl::StrCat("\"", name, "\"")));
      if (!named.emplace(name, std::move(tensor)).second) {
        return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is given twice"));
      }
    }
    return program->compiled->SetStates(named);
  });
}

weft_error* ProgramExplain(const weft_program* program, weft_text** text) {
  return Guarded("program_explain", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(text, "text"));
    *text = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    *text = new weft_text{program->compiled ? program->compiled->Explain().ToString()
                                            : "a plan of a file, for all sizes that it admits\n"};
    return absl::OkStatus();
  });
}

}  // namespace weft::c
