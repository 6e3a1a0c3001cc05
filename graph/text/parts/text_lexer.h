// Tokens of the text form; used only by the parsers in this folder.
//
// The lexer walks over a string_view and copies nothing. `//` begins a comment at the beginning of
// a line and outside of parentheses and brackets; inside of them it is the floor division of sizes.
// `%` followed directly by a name, a number or a quote begins a value; otherwise it is modulo.
#ifndef WEFT_GRAPH_TEXT_PARTS_TEXT_LEXER_H_
#define WEFT_GRAPH_TEXT_PARTS_TEXT_LEXER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace weft::text {

// A token of one character has that character as its kind.
enum TokenKind : int {
  kEnd = 0,
  kBad = 256,    // Anything that is not a token.
  kIdentifier,   // [A-Za-z_][A-Za-z0-9_.]*
  kInteger,      // [0-9]+
  kHex,          // 0x[0-9a-f]+
  kFloat,        // With a fraction or an exponent.
  kString,       // "..."; the text excludes the quotes.
  kValue,        // %name, %12
  kQuotedValue,  // %"..."; the text excludes the quotes.
  kGlobal,       // @name
  kQuotedGlobal,
  kArrow,         // ->
  kFloorDiv,      // //
  kLessEqual,     // <=
  kGreaterEqual,  // >=
  kEqual,         // ==
  kNotEqual,      // !=
  kRange,         // ..
};

struct Token {
  int kind = kEnd;
  absl::string_view text;
  size_t begin = 0;  // Offsets in the whole text, including sigils and quotes.
  size_t end = 0;
};

class Lexer {
 public:
  // With `depth` 1 the text is read as if it stood in parentheses.
  explicit Lexer(absl::string_view text, int depth = 0) : text_(text), depth_(depth) {}

  Token Next();
  // Continues at that offset, with the present nesting depth.
  void Seek(size_t position) { position_ = position; }
  absl::string_view text() const { return text_; }

 private:
  void SkipSpace();
  bool IsComment() const;
  Token Make(int kind, size_t begin, size_t end, size_t skip = 0, size_t drop = 0);
  Token Number(size_t begin);
  Token Quoted(int kind, size_t begin, size_t quote);
  Token Sigil(size_t begin);
  Token Punctuation(size_t begin);

  absl::string_view text_;
  size_t position_ = 0;
  int depth_;
};

// Undoes Quote() (base/quote.h) on the text between the quotes; nullopt on an unknown escape.
std::optional<std::string> Unescape(absl::string_view text);
// Line and column count from 1; the column counts bytes.
std::pair<size_t, size_t> LineAndColumn(absl::string_view text, size_t position);

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_PARTS_TEXT_LEXER_H_
