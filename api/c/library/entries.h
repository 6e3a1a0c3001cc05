// The functions of the table (weft.cc); api/c/weft.h documents them.
#ifndef WEFT_API_C_LIBRARY_ENTRIES_H_
#define WEFT_API_C_LIBRARY_ENTRIES_H_

#include <cstddef>

#include "api/c/weft.h"

namespace weft::c {

// errors.cc
weft_status ErrorCode(const weft_error* error);
const char* ErrorMessage(const weft_error* error);
const char* ErrorFunction(const weft_error* error);
void ErrorDestroy(weft_error* error);

// texts.cc
const char* TextData(const weft_text* text);
size_t TextSize(const weft_text* text);
void TextDestroy(weft_text* text);

// modules.cc
weft_error* ModuleLoad(const char* path, const weft_load_options* options, weft_module** module);
weft_error* ModuleParse(const char* text, size_t size, const char* name, weft_module** module);
weft_error* ModuleParseWith(const char* text, size_t size, const char* name,
                            const weft_load_options* options, weft_module** module);
weft_error* ModuleClone(const weft_module* module, weft_module** clone);
void ModuleDestroy(weft_module* module);
weft_error* ModuleRunPasses(weft_module* module, const weft_pass_options* options);
weft_error* ModuleEmit(const weft_module* module, const char* format, const char* target,
                       weft_text** text);
weft_error* ModuleSave(const weft_module* module, const char* path);
weft_error* ModuleCompile(const weft_module* module, const char* path,
                          const weft_file_options* options);

// programs.cc
weft_error* ProgramCreate(const weft_module* module, const weft_program_options* options,
                          weft_program** program);
weft_error* ProgramOpen(const char* path, const weft_plan_options* options, weft_program** program);
void ProgramDestroy(weft_program* program);
size_t ProgramNumInputs(const weft_program* program);
size_t ProgramNumOutputs(const weft_program* program);
const weft_value_info* ProgramInput(const weft_program* program, size_t index);
const weft_value_info* ProgramOutput(const weft_program* program, size_t index);
weft_error* ProgramRun(weft_program* program, const weft_tensor* const* inputs, size_t num_inputs,
                       weft_managed_tensor** outputs, size_t num_outputs);
weft_error* ProgramRunNamed(weft_program* program, const weft_named_tensor* inputs,
                            size_t num_inputs, weft_managed_tensor** outputs, size_t num_outputs);
weft_error* ProgramFunctionalCall(weft_program* program, const weft_named_tensor* state,
                                  size_t num_state, const weft_named_tensor* inputs,
                                  size_t num_inputs, weft_managed_tensor** outputs,
                                  size_t num_outputs);
size_t ProgramNumStates(const weft_program* program);
const char* ProgramStateName(const weft_program* program, size_t index);
weft_error* ProgramState(const weft_program* program, const char* name,
                         weft_managed_tensor** tensor);
weft_error* ProgramSetStates(weft_program* program, const weft_named_state* states,
                             size_t num_states);
weft_error* ProgramExplain(const weft_program* program, weft_text** text);

// observe.cc
weft_error* SetLogSettings(const char* settings);
void SetLogCallback(void (*line)(void* context, const char* text, size_t size), void* context);
weft_error* ProfileStart(weft_profile** profile);
void ProfileStep(weft_profile* profile);
weft_error* ProfileStop(weft_profile* profile, const char* path);

// extensions.cc
weft_error* ExtensionsCreate(weft_extensions** extensions);
void ExtensionsDestroy(weft_extensions* extensions);
weft_error* ExtensionsAddOp(weft_extensions* extensions, const weft_op* op);
weft_error* ExtensionsAddRules(weft_extensions* extensions, const char* text, size_t size,
                               const char* name);

// op_call.cc
size_t OpCallNumOperands(const weft_op_call* call);
const char* OpCallOperandType(const weft_op_call* call, size_t operand);
const weft_attr* OpCallAttr(const weft_op_call* call, const char* name);
void OpCallSetType(weft_op_call* call, size_t result, const char* type);
const weft_tensor* OpCallOperand(const weft_op_call* call, size_t operand);
const weft_tensor* OpCallResult(const weft_op_call* call, size_t result);
void OpCallFail(weft_op_call* call, const char* message);

// host.cc
weft_error* SetAllocator(void* (*allocate)(void* context, size_t size, size_t alignment),
                         void (*release)(void* context, void* memory, size_t size), void* context);

}  // namespace weft::c

#endif  // WEFT_API_C_LIBRARY_ENTRIES_H_
