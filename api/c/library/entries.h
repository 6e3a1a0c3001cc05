// The functions of the table (weft.cc) that need the library; api/c/weft.h documents them.
#ifndef WEFT_API_C_LIBRARY_ENTRIES_H_
#define WEFT_API_C_LIBRARY_ENTRIES_H_

#include <cstddef>

#include "api/c/weft.h"

namespace weft::c {

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

// device_runs.cc
weft_error* ProgramDevice(weft_program* program, weft_dl_device* device);
weft_error* ProgramRunOnDevice(weft_program* program, const weft_run_options* options,
                               const weft_tensor* const* inputs, size_t num_inputs,
                               weft_managed_tensor** outputs, size_t num_outputs);
weft_error* ProgramSynchronize(weft_program* program);
weft_error* ProgramCopyTensor(weft_program* program, const weft_tensor* tensor,
                              weft_dl_device device, weft_managed_tensor** copy);

// profiles.cc
weft_error* ProfileStart(weft_profile** profile);
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

}  // namespace weft::c

#endif  // WEFT_API_C_LIBRARY_ENTRIES_H_
