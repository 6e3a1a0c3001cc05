// --log, in the tools that compile or run.
#ifndef WEFT_TOOLS_COMMON_LOGS_H_
#define WEFT_TOOLS_COMMON_LOGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/common/flags.h"

namespace weft::tools {

void AddLogFlag(FlagSet& flags, std::string* settings);

// Takes the flag or, without one, WEFT_LOGS of the environment. True for "help", which is
// then printed: there is nothing else to do.
absl::StatusOr<bool> StartLogs(const std::string& settings);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_LOGS_H_
