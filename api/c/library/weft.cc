// The table of the C interface.
#include "api/c/weft.h"

#include "api/c/entries/entries.h"
#include "api/c/library/entries.h"
#include "api/version.h"

namespace weft::c {
namespace {

const char* LibraryVersion() { return kVersion; }

// In the order of the header.
constexpr weft_api kApi = {
    sizeof(weft_api),  WEFT_API_VERSION,   LibraryVersion,     ErrorCode,
    ErrorMessage,      ErrorFunction,      ErrorDestroy,       TextData,
    TextSize,          TextDestroy,        ModuleLoad,         ModuleParse,
    ModuleClone,       ModuleDestroy,      ModuleRunPasses,    ModuleEmit,
    ModuleSave,        ModuleCompile,      ProgramCreate,      ProgramOpen,
    ProgramDestroy,    ProgramNumInputs,   ProgramNumOutputs,  ProgramInput,
    ProgramOutput,     ProgramRun,         ProgramRunNamed,    ProgramFunctionalCall,
    ProgramNumStates,  ProgramStateName,   ProgramState,       ProgramSetStates,
    ProgramExplain,    SetLogSettings,     SetLogCallback,     ProfileStart,
    ProfileStep,       ProfileStop,        ExtensionsCreate,   ExtensionsDestroy,
    ExtensionsAddOp,   ExtensionsAddRules, ModuleParseWith,    OpCallNumOperands,
    OpCallOperandType, OpCallAttr,         OpCallSetType,      OpCallOperand,
    OpCallResult,      OpCallFail,         SetAllocator,       SetParallelFor,
    ProgramDevice,     ProgramRunOnDevice, ProgramSynchronize, ProgramCopyTensor,
};

}  // namespace
}  // namespace weft::c

const weft_api* weft_get_api(uint32_t version) {
  return version >= 1 && version <= WEFT_API_VERSION ? &weft::c::kApi : nullptr;
}
