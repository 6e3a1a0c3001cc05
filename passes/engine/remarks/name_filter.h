// Names and texts picked by a regular expression, as flags take it.
//
// A match takes time linear in the text, whatever the expression: it comes from a command line,
// and std::regex takes exponential time and a stack frame for each character. The grammar is
// ECMAScript's without what needs backtracking: characters, `.`, classes ([a-z], [^...], \d \w \s
// and their opposites), groups, `|`, the quantifiers * + ? {m} {m,} {m,n} (lazy ones too: which
// match is found makes no difference), ^ $ \b \B. Look-ahead, back-references and classes with
// names are refused. Text is bytes.
#ifndef WEFT_PASSES_ENGINE_REMARKS_NAME_FILTER_H_
#define WEFT_PASSES_ENGINE_REMARKS_NAME_FILTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class NameFilter {
 public:
  // InvalidArgument says what is wrong and at which character, or which bound is passed: 1,000
  // characters, 100 groups in each other, 10,000 states.
  static absl::StatusOr<NameFilter> Parse(const std::string& regex);

  // The expression describes the whole name, or a part of it.
  bool Matches(absl::string_view name) const;
  bool Finds(absl::string_view name) const;

 private:
  struct Program;
  class Compiler;
  class Threads;
  bool Run(absl::string_view text, bool whole) const;

  std::shared_ptr<const Program> program_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REMARKS_NAME_FILTER_H_
