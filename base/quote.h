// Names and strings as the text form writes them.
#ifndef WEFT_BASE_QUOTE_H_
#define WEFT_BASE_QUOTE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Text in double quotes with \", \\, \n, \t and \xHH escapes.
std::string Quote(absl::string_view text);

// True for a letter or `_`, followed by letters, digits, `_` and `.`.
bool IsIdentifier(absl::string_view name);
// The bare name if it is an identifier, else the name in quotes.
std::string NameToString(absl::string_view name);

}  // namespace weft

#endif  // WEFT_BASE_QUOTE_H_
