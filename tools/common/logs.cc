#include "tools/common/logs.h"

#include <cstdlib>
#include <iostream>

#include "api/logs.h"

namespace weft::tools {

void AddLogFlag(FlagSet& flags, std::string* settings) {
  flags.String("log", settings, "[+|-]NAME,...",
               "Log lines of components, and artifacts, to stderr; help lists them.\n"
               "Default: WEFT_LOGS of the environment");
}

absl::StatusOr<bool> StartLogs(const std::string& settings) {
  const char* environment = std::getenv("WEFT_LOGS");
  const std::string text = !settings.empty() ? settings : environment != nullptr ? environment : "";
  if (text == "help") {
    std::cout << LogsHelp();
    return true;
  }
  absl::Status status = SetLogs(text);
  if (!status.ok()) return status;
  return false;
}

}  // namespace weft::tools
