#include "tools/common/logs.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "api/logs.h"
#include "base/printable.h"
#include "base/status_macros.h"

namespace weft::tools {

void AddLogFlag(FlagSet& flags, std::string* settings) {
  flags.String("log", settings, "[+|-]NAME,...",
               "Print log lines of components, and artifacts, to stderr; help lists them.\n"
               "Default: the environment variable WEFT_LOGS");
}

absl::StatusOr<bool> StartLogs(const std::string& settings) {
  const char* environment = std::getenv("WEFT_LOGS");
  const std::string text = !settings.empty() ? settings : environment != nullptr ? environment : "";
  if (text == "help") {
    std::cout << LogsHelp();
    return true;
  }
  // Lines contain names of models, so they are escaped; each is written at once, because they come
  // from several threads.
  SetLogSink([](absl::string_view line) {
    const std::string shown = absl::StrCat(Printable(line), "\n");
    std::fwrite(shown.data(), 1, shown.size(), stderr);
  });
  WEFT_RETURN_IF_ERROR(SetLogs(text));
  return false;
}

}  // namespace weft::tools
