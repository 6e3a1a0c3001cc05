// Command lines of the tools: `--name=value`, `--name value`, `--switch`,
// `--noswitch`, and positional arguments; `--` ends the flags.
//
// Abseil's flags exit with status 1 on a misspelt flag and have no repeated
// flags; the tools promise status 2 and one clear line.
#ifndef WEFT_TOOLS_COMMON_FLAGS_H_
#define WEFT_TOOLS_COMMON_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

class FlagSet {
 public:
  // `synopsis` follows the program's name in the usage line; `about` is the
  // text below it.
  FlagSet(std::string program, std::string synopsis, std::string about);

  // A heading before the flags that follow.
  void Section(std::string title);
  void Bool(std::string name, bool* target, std::string doc);
  void String(std::string name, std::string* target, std::string value, std::string doc);
  // `--name` alone stands for `--name=<bare>`; a value needs the '='.
  void OptionalString(std::string name, std::string* target, std::string value, std::string bare,
                      std::string doc);
  void Int(std::string name, int64_t* target, std::string value, std::string doc);
  // From `least` to `most`.
  void IntBetween(std::string name, int64_t* target, int64_t least, int64_t most, std::string value,
                  std::string doc);
  // A number that is finite and at least 0, as tolerances, seconds and rates are.
  void Double(std::string name, double* target, std::string value, std::string doc);
  // May be given several times.
  void Repeated(std::string name, std::vector<std::string>* target, std::string value,
                std::string doc);

  // Calls `set` with the value; an empty `value` makes a switch.
  void Custom(std::string name, std::string value, std::string doc,
              std::function<absl::Status(const std::string&)> set);

  // The positional arguments. Errors are InvalidArgument and name the flag,
  // with the closest known one for a misspelling. Sets help_requested() on
  // --help or -h and then parses no further.
  absl::StatusOr<std::vector<std::string>> Parse(int argc, const char* const* argv);
  bool help_requested() const { return help_requested_; }
  std::string Help() const;
  const std::string& program() const { return program_; }

 private:
  struct Flag {
    std::string name;   // Empty: a heading, in `doc`.
    std::string value;  // What the help calls the value; empty for switches.
    std::string doc;
    std::function<absl::Status(const std::string&)> set;
    bool optional = false;  // The value may be left out...
    std::string bare;       // ... and is then this.
  };
  const Flag* Find(absl::string_view name) const;
  // `typed` is what the user wrote, with its dashes.
  absl::Status Unknown(absl::string_view typed) const;
  absl::Status ParseOne(const std::string& argument, int argc, const char* const* argv, int* index);

  std::string program_;
  std::string synopsis_;
  std::string about_;
  std::vector<Flag> flags_;
  bool help_requested_ = false;
};

// The candidate nearest to `name` by edit distance, or "" when none is near.
std::string ClosestName(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_FLAGS_H_
