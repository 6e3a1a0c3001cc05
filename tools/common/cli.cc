#include "tools/common/cli.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "api/version.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "tools/common/console.h"

namespace weft::tools {
namespace {

using Body = absl::FunctionRef<absl::StatusOr<int>(const std::vector<std::string>&)>;
using MoreHelp = absl::FunctionRef<absl::StatusOr<std::string>()>;

absl::StatusOr<int> ParseAndRun(FlagSet& flags, int argc, char** argv, Body body,
                                MoreHelp more_help) {
  WEFT_ASSIGN_OR_RETURN(auto positional, flags.Parse(argc, argv));
  if (flags.version_requested()) {
    std::cout << flags.program() << " (Weft) " << kVersion << "\n";
    return kExitOk;
  }
  if (!flags.help_requested()) return body(positional);
  std::cout << flags.Help();
  if (!flags.help_is_text()) return kExitOk;
  WEFT_ASSIGN_OR_RETURN(auto more, more_help());
  std::cout << more;
  return kExitOk;
}

}  // namespace

int RunTool(FlagSet& flags, int argc, char** argv, Body body, MoreHelp more_help) {
  Console console;
  const absl::StatusOr<int> exit_code = ParseAndRun(flags, argc, argv, body, more_help);
  absl::Status status = exit_code.status();
  status.Update(console.Finish());
  if (status.ok()) return *exit_code;
  PrintMessage(flags.program(), absl::StrCat("error: ", status.message()));
  return kExitUsage;
}

void PrintMessage(absl::string_view program, absl::string_view message) {
  message = absl::StripSuffix(message, "\n");
  std::cerr << program << ": " << absl::StrReplaceAll(message, {{"\n", "\n  "}}) << std::endl;
}

std::string ResolvePath(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || path.empty() || path[0] == '/') return path;
  return absl::StrCat(folder, "/", path);
}

absl::StatusOr<std::pair<std::string, std::string>> ParseNamedFile(absl::string_view flag,
                                                                   const std::string& value) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " takes NAME=FILE, not \"", value, "\""));
  }
  return std::make_pair(value.substr(0, equals), value.substr(equals + 1));
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot make the folder ", path));
}

absl::Status WriteOutput(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") return WriteRaw(text);
  std::cout.flush();  // The file may be /dev/stdout.
  return WriteFile(ResolvePath(path), text);
}

absl::Status WriteText(const std::string& path, const std::string& text) {
  return WriteOutput(path, Printable(text));
}

}  // namespace weft::tools
