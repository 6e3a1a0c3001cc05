// The words of rule files and of policies of the quantizer (passes/quantize).
#ifndef WEFT_PASSES_ENGINE_RULES_SCANNER_H_
#define WEFT_PASSES_ENGINE_RULES_SCANNER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// Reads a text from its beginning, skipping spaces and comments. Errors are InvalidArgument and
// name the file, the line and the column.
class RuleScanner {
 public:
  RuleScanner(absl::string_view text, absl::string_view file) : text_(text), file_(file) {}

  absl::Status Error(absl::string_view message) const;
  // "file:line".
  std::string Where() const;

  // A position to return to.
  size_t Mark();
  void Rewind(size_t mark) { at_ = mark; }
  absl::string_view Since(size_t mark) const { return text_.substr(mark, at_ - mark); }

  // Tests of the next token; names end at a word boundary.
  bool AtEnd();
  bool AtName();
  bool AtNumber();
  bool Peek(absl::string_view token);
  // Consumes the token if it is next.
  bool Take(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  // Empty if the next token is not a name.
  absl::string_view TakeName();
  // Errors contain `what`, which was expected.
  absl::StatusOr<absl::string_view> Name(absl::string_view what);
  absl::StatusOr<std::string> Kebab(absl::string_view what);
  absl::StatusOr<absl::string_view> Number();
  absl::StatusOr<int64_t> Integer();
  absl::StatusOr<std::string> String();
  // The text up to the end of the line, a `;` or a comment, without the spaces around it.
  absl::string_view TakeStatement();

 private:
  void Skip();
  std::pair<size_t, size_t> LineAndColumn() const;

  const absl::string_view text_;
  const absl::string_view file_;
  size_t at_ = 0;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_SCANNER_H_
