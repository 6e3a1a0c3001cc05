// The functions of the table that need no compiler: those that the library (api/c/library) and the
// runtime (api/c/runtime) have in common. api/c/weft.h documents them.
#ifndef WEFT_API_C_ENTRIES_ENTRIES_H_
#define WEFT_API_C_ENTRIES_ENTRIES_H_

#include <cstddef>
#include <cstdint>

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

// programs.cc
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

// host.cc
weft_error* SetLogSettings(const char* settings);
void SetLogCallback(void (*line)(void* context, const char* text, size_t size), void* context);
weft_error* SetAllocator(void* (*allocate)(void* context, size_t size, size_t alignment),
                         void (*release)(void* context, void* memory, size_t size), void* context);
weft_error* SetParallelFor(void (*run)(void* context, int64_t count,
                                       void (*task)(void* data, int64_t index), void* data),
                           void* context);

// profiles.cc
void ProfileStep(weft_profile* profile);

}  // namespace weft::c

#endif  // WEFT_API_C_ENTRIES_ENTRIES_H_
