#include "base/shell_quote.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace weft {

std::string ShellQuote(absl::string_view text) {
  constexpr absl::string_view kPlain = "%+,-./:=@_";
  const bool plain = std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kPlain.find(c) != absl::string_view::npos;
  });
  if (plain && !text.empty()) return std::string(text);
  // A quote inside the text closes the quoted part, is escaped, and opens a new part.
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace weft
