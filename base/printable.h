// Text of models, files and users as a terminal may show it.
#ifndef WEFT_BASE_PRINTABLE_H_
#define WEFT_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// The text with what a terminal would obey written out: control characters (C0, DEL, C1) and those
// that turn the direction of text become \u001b, as in JSON, bytes that are not UTF-8 become \x9b.
// Newlines and tabs stay, so that text of several lines keeps its form.
std::string Printable(absl::string_view text);

// The same for a name that stands in a line: newlines and tabs are written out too.
std::string PrintableName(absl::string_view name);

// Bytes at the end of `text` that begin a UTF-8 sequence which ends later; for text that comes in
// parts.
size_t UnfinishedBytes(absl::string_view text);

}  // namespace weft

#endif  // WEFT_BASE_PRINTABLE_H_
