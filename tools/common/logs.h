// The flag --log of tools that compile or run.
#ifndef WEFT_TOOLS_COMMON_LOGS_H_
#define WEFT_TOOLS_COMMON_LOGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/common/flags.h"

namespace weft::tools {

void AddLogFlag(FlagSet& flags, std::string* settings);

// Applies the flag or, if it is not given, the environment variable WEFT_LOGS. For "help", prints
// the help and returns true: the tool should then exit.
absl::StatusOr<bool> StartLogs(const std::string& settings);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_LOGS_H_
