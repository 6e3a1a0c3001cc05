// The table of the C interface in a program without a compiler: what reads, changes and compiles
// modules is an error, or does nothing.
#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/c/entries/entries.h"
#include "api/c/entries/errors.h"
#include "api/c/entries/plan_program.h"
#include "api/c/runtime/entries.h"
#include "api/c/weft.h"
#include "api/runtime/runtime_program.h"
#include "api/version.h"

namespace weft::c {
namespace {

const char* LibraryVersion() { return kVersion; }

weft_error* ProgramOpen(const char* path, const weft_plan_options* options,
                        weft_program** program) {
  return OpenProgram(path, options, program, RuntimeProgram::Open);
}

// What an entry would have returned through a pointer is null after an error.
template <typename Handle>
void Clear(Handle** result) {
  if (result != nullptr) *result = nullptr;
}
template <typename Argument>
void Clear(const Argument&) {}

// The entry kName, which needs the library.
template <const char* kName, typename... Arguments>
weft_error* NeedsLibrary(Arguments... arguments) {
  return Guarded(kName, [&]() -> absl::Status {
    (Clear(arguments), ...);
    return absl::UnimplementedError(
        absl::StrCat(kName, " needs libweft_c; this is the runtime, libweft_c_runtime"));
  });
}

// Entries for handles that the runtime never gives.
template <typename Result, typename... Arguments>
Result Nothing(Arguments...) {
  return Result();
}

constexpr char kModuleLoad[] = "module_load";
constexpr char kModuleParse[] = "module_parse";
constexpr char kModuleClone[] = "module_clone";
constexpr char kModuleRunPasses[] = "module_run_passes";
constexpr char kModuleEmit[] = "module_emit";
constexpr char kModuleSave[] = "module_save";
constexpr char kModuleCompile[] = "module_compile";
constexpr char kProgramCreate[] = "program_create";
constexpr char kExtensionsCreate[] = "extensions_create";
constexpr char kExtensionsAddOp[] = "extensions_add_op";
constexpr char kExtensionsAddRules[] = "extensions_add_rules";
constexpr char kModuleParseWith[] = "module_parse_with";
constexpr char kProgramDevice[] = "program_device";
constexpr char kProgramRunOnDevice[] = "program_run_on_device";
constexpr char kProgramSynchronize[] = "program_synchronize";
constexpr char kProgramCopyTensor[] = "program_copy_tensor";

weft_error* ProgramRunOnDevice(weft_program*, const weft_run_options*, const weft_tensor* const*,
                               size_t, weft_managed_tensor** outputs, size_t num_outputs) {
  if (outputs != nullptr) std::fill_n(outputs, num_outputs, nullptr);
  return NeedsLibrary<kProgramRunOnDevice>();
}

// The caller is told that its op is not used.
weft_error* ExtensionsAddOp(weft_extensions*, const weft_op* op) {
  if (op != nullptr && op->struct_size >= sizeof *op && op->destroy != nullptr) {
    op->destroy(op->context);
  }
  return NeedsLibrary<kExtensionsAddOp>();
}

// In the order of the header.
constexpr weft_api kApi = {
    sizeof(weft_api),
    WEFT_API_VERSION,
    LibraryVersion,
    ErrorCode,
    ErrorMessage,
    ErrorFunction,
    ErrorDestroy,
    TextData,
    TextSize,
    TextDestroy,
    NeedsLibrary<kModuleLoad>,
    NeedsLibrary<kModuleParse>,
    NeedsLibrary<kModuleClone>,
    Nothing,  // module_destroy
    NeedsLibrary<kModuleRunPasses>,
    NeedsLibrary<kModuleEmit>,
    NeedsLibrary<kModuleSave>,
    NeedsLibrary<kModuleCompile>,
    NeedsLibrary<kProgramCreate>,
    ProgramOpen,
    ProgramDestroy,
    ProgramNumInputs,
    ProgramNumOutputs,
    ProgramInput,
    ProgramOutput,
    ProgramRun,
    ProgramRunNamed,
    ProgramFunctionalCall,
    ProgramNumStates,
    ProgramStateName,
    ProgramState,
    ProgramSetStates,
    ProgramExplain,
    SetLogSettings,
    SetLogCallback,
    ProfileStart,
    EndProfileStep,
    ProfileStop,
    NeedsLibrary<kExtensionsCreate>,
    Nothing,  // extensions_destroy
    ExtensionsAddOp,
    NeedsLibrary<kExtensionsAddRules>,
    NeedsLibrary<kModuleParseWith>,
    Nothing,  // op_call_num_operands
    Nothing,  // op_call_operand_type
    Nothing,  // op_call_attr
    Nothing,  // op_call_set_type
    Nothing,  // op_call_operand
    Nothing,  // op_call_result
    Nothing,  // op_call_fail
    SetAllocator,
    SetParallelFor,
    NeedsLibrary<kProgramDevice>,
    ProgramRunOnDevice,
    NeedsLibrary<kProgramSynchronize>,
    NeedsLibrary<kProgramCopyTensor>,
};

}  // namespace
}  // namespace weft::c

const weft_api* weft_get_api(uint32_t version) {
  return version >= 1 && version <= WEFT_API_VERSION ? &weft::c::kApi : nullptr;
}
