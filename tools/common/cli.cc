#include "tools/common/cli.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace weft::tools {
namespace {

int Report(const FlagSet& flags, const absl::Status& status) {
  std::cerr << flags.program() << ": error: " << status.message() << std::endl;
  return kExitUsage;
}

}  // namespace

int RunTool(FlagSet& flags, int argc, char** argv,
            absl::FunctionRef<absl::StatusOr<int>(const std::vector<std::string>&)> body,
            absl::FunctionRef<absl::StatusOr<std::string>()> more_help) {
  auto positional = flags.Parse(argc, argv);
  if (!positional.ok()) return Report(flags, positional.status());
  if (flags.help_requested()) {
    auto more = more_help();
    if (!more.ok()) return Report(flags, more.status());
    std::cout << flags.Help() << *more;
    return kExitOk;
  }
  auto exit_code = body(*positional);
  if (!exit_code.ok()) return Report(flags, exit_code.status());
  return *exit_code;
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
  if (path.empty() || path == "-") {
    std::cout << text << std::flush;
    return std::cout ? absl::OkStatus() : absl::UnavailableError("cannot write standard output");
  }
  std::ofstream file(ResolvePath(path), std::ios::binary);
  file << text;
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

}  // namespace weft::tools
