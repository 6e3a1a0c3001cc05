// Text as one word of a command line of the shell (POSIX).
#ifndef WEFT_BASE_SHELL_QUOTE_H_
#define WEFT_BASE_SHELL_QUOTE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Text of letters, digits and "%+,-./:=@_" stays as it is; other text stands in single quotes.
std::string ShellQuote(absl::string_view text);

}  // namespace weft

#endif  // WEFT_BASE_SHELL_QUOTE_H_
