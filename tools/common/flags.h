// Command lines of the tools: `--name=value`, `--name value`, `--switch`,
// `--noswitch`, and positional arguments; `--` ends the flags.
//
// Abseil's flags exit with status 1 on a misspelt flag and have no repeated
// flags; the tools promise status 2 and one clear line.
#ifndef WEFT_TOOLS_COMMON_FLAGS_H_
#define WEFT_TOOLS_COMMON_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

class FlagSet {
 public:
  // `synopsis` is printed after the program's name in the usage line, `about` below it.
  FlagSet(std::string program, std::string synopsis, std::string about);

  // Adds a heading before the flags that follow.
  void Section(std::string title);
  void Bool(std::string name, bool* target, std::string doc);
  void String(std::string name, std::string* target, std::string value, std::string doc);
  // `--name` alone means `--name=<bare>`; a value requires the '='.
  void OptionalString(std::string name, std::string* target, std::string value, std::string bare,
                      std::string doc);
  void Int(std::string name, int64_t* target, std::string value, std::string doc);
  // A number from `least` to `most`.
  void IntBetween(std::string name, int64_t* target, int64_t least, int64_t most, std::string value,
                  std::string doc);
  // A finite number of at least 0, such as a tolerance, seconds or a rate.
  void Double(std::string name, double* target, std::string value, std::string doc);
  // A flag that may be given several times.
  void Repeated(std::string name, std::vector<std::string>* target, std::string value,
                std::string doc);

  // Another name of a flag that was added before, which the help does not show: for command lines
  // that were written when the flag had that name.
  void Alias(std::string alias, std::string name);

  // Calls `set` with the value; an empty `value` makes the flag a switch.
  void Custom(std::string name, std::string value, std::string doc,
              std::function<absl::Status(const std::string&)> set);

  // Returns the positional arguments. Errors are InvalidArgument and name the flag, with the most
  // similar known one for a misspelling. On --help or -h, sets help_requested() and stops parsing;
  // likewise on --version. --help=man asks for the manual page, --help=flags for the completions.
  absl::StatusOr<std::vector<std::string>> Parse(int argc, const char* const* argv);
  bool help_requested() const { return help_requested_; }
  // True if the requested form is the text for people, which a tool may add to.
  bool help_is_text() const { return help_form_ == HelpForm::kText; }
  bool version_requested() const { return version_requested_; }
  // In the requested form.
  std::string Help() const;
  const std::string& program() const { return program_; }

 private:
  struct Flag {
    std::string name;   // Empty: a heading, whose text is `doc`.
    std::string value;  // The value's name in the help; empty for switches.
    std::string doc;
    std::function<absl::Status(const std::string&)> set;
    bool optional = false;  // The value may be left out...
    std::string bare;       // ... and defaults to this.
  };
  enum class HelpForm { kText, kManualPage, kCompletions };

  const Flag* Find(absl::string_view name) const;
  static std::string Shown(const Flag& flag);  // "--seed=N", "-o FILE", "--remarks[=REGEX]".
  std::string HelpText() const;
  std::string ManualPage() const;   // roff, in section 1.
  std::string Completions() const;  // A flag a line: "--seed=", "--strict".
  // `typed` is the user's text, with its dashes.
  absl::Status Unknown(absl::string_view typed) const;
  absl::Status ParseOne(const std::string& argument, int argc, const char* const* argv, int* index);

  std::string program_;
  std::string synopsis_;
  std::string about_;
  std::vector<Flag> flags_;
  std::map<std::string, std::string> aliases_;
  bool help_requested_ = false;
  HelpForm help_form_ = HelpForm::kText;
  bool version_requested_ = false;
};

// The candidate most similar to `name` by edit distance, or "" if none is similar.
std::string ClosestName(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_FLAGS_H_
