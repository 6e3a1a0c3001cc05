// What the tools' mains share: exit statuses, messages, paths.
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

// 0: done. 1: the work was done and the answer is bad (outputs differ, cases
// failed). 2: the command line or a file is wrong.
inline constexpr int kExitOk = 0;
inline constexpr int kExitBad = 1;
inline constexpr int kExitUsage = 2;

// Parses, handles --help and errors, then calls `body` with the positional
// arguments. An error of `body`, and standard output that cannot be written, are
// printed as "<program>: error: ..." (PrintMessage) and give kExitUsage. `more_help`
// goes below the flags' help. std::cout and std::cerr are a Console's meanwhile.
int RunTool(
    FlagSet& flags, int argc, char** argv,
    absl::FunctionRef<absl::StatusOr<int>(const std::vector<std::string>&)> body,
    absl::FunctionRef<absl::StatusOr<std::string>()> more_help = [] { return std::string(); });

// The main of a tool: options with their defaults, filled by the flags that
// `make_flags` lists, for `run`.
template <typename Options, typename Body>
int ToolMain(int argc, char** argv, FlagSet (*make_flags)(Options*), Body* run) {
  Options options;
  FlagSet flags = make_flags(&options);
  return RunTool(flags, argc, argv, [&](const std::vector<std::string>& positional) {
    return run(options, positional);
  });
}

// "<program>: <message>" on standard error. The first line says what happened; further
// lines, as a list of what was found, stand two columns in, so that no text of a model
// looks like a message of its own.
void PrintMessage(absl::string_view program, absl::string_view message);

// `bazel run` starts a program in another folder: relative paths are taken from
// the folder in which the user typed the command.
std::string ResolvePath(const std::string& path);

// "NAME=FILE" of --`flag`; the error shows the form.
absl::StatusOr<std::pair<std::string, std::string>> ParseNamedFile(absl::string_view flag,
                                                                   const std::string& value);

// Makes the folder, when it is not there.
absl::Status MakeFolder(const std::string& path);

// Writes `text` as it is to the file (base/output_file.h), or to standard output for ""
// and "-".
absl::Status WriteOutput(const std::string& path, const std::string& text);
// The same of text for people, or of JSON: without what a terminal would obey.
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_CLI_H_
