// Plans of compiled files as programs of the C interface. Inputs become state when they are set.
#ifndef WEFT_API_C_ENTRIES_PLAN_PROGRAM_H_
#define WEFT_API_C_ENTRIES_PLAN_PROGRAM_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "api/c/weft.h"
#include "api/runtime/runtime_program.h"

namespace weft::c {

using PlanOpener = absl::FunctionRef<absl::StatusOr<RuntimeProgram>(const std::string& path,
                                                                    const RuntimeProgramOptions&)>;

// The entry program_open, with what opens the file.
weft_error* OpenProgram(const char* path, const weft_plan_options* options, weft_program** program,
                        PlanOpener open);

}  // namespace weft::c

#endif  // WEFT_API_C_ENTRIES_PLAN_PROGRAM_H_
