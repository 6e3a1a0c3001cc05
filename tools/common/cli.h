// Shared by the tools' main functions: exit statuses, messages, paths.
#ifndef WEFT_TOOLS_COMMON_CLI_H_
#define WEFT_TOOLS_COMMON_CLI_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/flags.h"

namespace weft::tools {

// 0: success. 1: the work was done with a negative result (outputs differ, cases failed). 2: an
// error in the command line or in a file.
inline constexpr int kExitOk = 0;
inline constexpr int kExitBad = 1;
inline constexpr int kExitUsage = 2;

// Parses flags, handles --help, --version and errors, then calls `body` with the positional
// arguments. An error of `body`, or of writing standard output, is printed as "<program>: error:
// ..." (PrintMessage) and gives kExitUsage. `more_help` is printed below the flags' help. std::cout
// and std::cerr go through a Console meanwhile.
int RunTool(
    FlagSet& flags, int argc, char** argv,
    absl::FunctionRef<absl::StatusOr<int>(const std::vector<std::string>&)> body,
    absl::FunctionRef<absl::StatusOr<std::string>()> more_help = [] { return std::string(); });

// The main function of a tool: `run` gets options with their defaults, filled in by the flags that
// `make_flags` lists.
template <typename Options, typename Body>
int ToolMain(int argc, char** argv, FlagSet (*make_flags)(Options*), Body* run) {
  Options options;
  FlagSet flags = make_flags(&options);
  return RunTool(flags, argc, argv, [&](const std::vector<std::string>& positional) {
    return run(options, positional);
  });
}

// Prints "<program>: <message>" on standard error. The first line says what happened; further
// lines, such as a list of findings, are indented by two columns, so that text of a model cannot
// look like a message.
void PrintMessage(absl::string_view program, absl::string_view message);

// `bazel run` starts a program in another folder, so relative paths are resolved against the folder
// in which the user typed the command.
std::string ResolvePath(const std::string& path);

// Parses "NAME=FILE" of --`flag`; the error shows the form.
absl::StatusOr<std::pair<std::string, std::string>> ParseNamedFile(absl::string_view flag,
                                                                   const std::string& value);

// Makes the folder if it does not exist.
absl::Status MakeFolder(const std::string& path);

// Writes `text` unchanged to the file (base/output_file.h), or to standard output for "" and "-".
absl::Status WriteOutput(const std::string& path, const std::string& text);
// The same for text or JSON that people read: characters that a terminal obeys are escaped.
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_CLI_H_
