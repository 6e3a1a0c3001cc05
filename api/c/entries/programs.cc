#include "api/c/entries/programs.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/c/entries/entries.h"
#include "api/c/entries/errors.h"
#include "api/c/entries/tensors.h"
#include "api/c/entries/texts.h"
#include "base/status_macros.h"
#include "graph/sym/sym_int.h"

namespace weft::c {
namespace {

const weft_value_info* InfoAt(const std::vector<std::unique_ptr<Value>>& values, size_t index) {
  return index < values.size() ? &values[index]->info : nullptr;
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

}  // namespace

absl::Status CheckInputs(const weft_program& program, const weft_tensor* const* inputs,
                         size_t num_inputs) {
  if (num_inputs != program.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", program.inputs.size(), " inputs, got ", num_inputs));
  }
  return num_inputs > 0 ? CheckGiven(inputs, "inputs") : absl::OkStatus();
}

absl::Status CheckOutputs(const weft_program& program, weft_managed_tensor** outputs,
                          size_t num_outputs) {
  if (num_outputs != program.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has ", program.outputs.size(),
                                                   " outputs, and there is room for ",
                                                   num_outputs));
  }
  return num_outputs > 0 ? CheckGiven(outputs, "outputs") : absl::OkStatus();
}

std::unique_ptr<Value> MakeValue(std::string name, const Type& type, bool optional) {
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

std::string InputText(const std::string& name, size_t index) {
  return name.empty() ? absl::StrCat("input ", index) : absl::StrCat("\"", name, "\"");
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
    WEFT_RETURN_IF_ERROR(CheckInputs(*program, inputs, num_inputs));
    Borrowed borrowed(program->copies_inputs);
    Tensors tensors(num_inputs);
    for (size_t i = 0; i < num_inputs; ++i) {
      const Value& input = *program->inputs[i];
      const std::string name = InputText(input.name, i);
      if (inputs[i] != nullptr) {
        WEFT_ASSIGN_OR_RETURN(tensors[i], borrowed.Add(*inputs[i], name));
      } else if (input.info.optional == 0 && !program->takes_states) {
        return absl::InvalidArgumentError(absl::StrCat("no tensor for ", name));
      }
    }
    WEFT_ASSIGN_OR_RETURN(Tensors results, program->runnable->Run(tensors));
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
    WEFT_ASSIGN_OR_RETURN(Tensors results, program->runnable->RunNamed(named));
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
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    WEFT_RETURN_IF_ERROR(CheckOutputs(*program, outputs, num_outputs));
    Borrowed borrowed(/*copies=*/false);
    WEFT_ASSIGN_OR_RETURN(NamedTensors tensors, borrowed.AddAll(state, num_state, "state"));
    WEFT_ASSIGN_OR_RETURN(NamedTensors named, borrowed.AddAll(inputs, num_inputs, "inputs"));
    WEFT_ASSIGN_OR_RETURN(Tensors results, program->runnable->FunctionalCall(tensors, named));
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
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    WEFT_RETURN_IF_ERROR(CheckGiven(name, "name"));
    WEFT_ASSIGN_OR_RETURN(HostTensor state, program->runnable->State(name));
    *tensor = GiveTensor(std::move(state), /*read_only=*/true).release();
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
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
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
    return program->runnable->SetStates(named);
  });
}

weft_error* ProgramExplain(const weft_program* program, weft_text** text) {
  return Guarded("program_explain", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(text, "text"));
    *text = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    *text = new weft_text{program->runnable->Explain()};
    return absl::OkStatus();
  });
}

}  // namespace weft::c
