// Text from models, files and users, made safe to print on a terminal.
#ifndef WEFT_BASE_PRINTABLE_H_
#define WEFT_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// The text with every character that a terminal obeys escaped: control characters (C0, DEL, C1) and
// direction marks become \u001b, as in JSON; bytes that are not UTF-8 become \x9b. Newlines and
// tabs stay.
std::string Printable(absl::string_view text);

// The same for a name inside a line: newlines and tabs are escaped too.
std::string PrintableName(absl::string_view name);

// Number of bytes at the end of `text` that begin an incomplete UTF-8 sequence, for text that
// arrives in parts.
size_t UnfinishedBytes(absl::string_view text);

}  // namespace weft

#endif  // WEFT_BASE_PRINTABLE_H_
