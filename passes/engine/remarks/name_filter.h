// Selects names and texts by a regular expression from a flag.
//
// Matching takes time linear in the text for every expression, because expressions come from the
// command line; std::regex takes exponential time and one stack frame per character. The grammar is
// ECMAScript's without features that require backtracking: characters, `.`, classes ([a-z], [^...],
// \d \w \s and their opposites), groups, `|`, the quantifiers * + ? {m} {m,} {m,n} (lazy ones too,
// which are equivalent here), ^ $ \b \B. Look-ahead, back-references and named classes are errors.
// Text is bytes.
#ifndef WEFT_PASSES_ENGINE_REMARKS_NAME_FILTER_H_
#define WEFT_PASSES_ENGINE_REMARKS_NAME_FILTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class NameFilter {
 public:
  // InvalidArgument names the error and its position, or the exceeded limit: 1,000 characters, 100
  // nested groups, 10,000 states.
  static absl::StatusOr<NameFilter> Parse(const std::string& regex);

  // Matches: the expression matches the whole name; Finds: a part of it.
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
