// JSON text that may stand inside a <script> element: every '<' is escaped, so no
// text ends the element or begins a comment in it.
#ifndef WEFT_SERIALIZE_HTML_JSON_TEXT_H_
#define WEFT_SERIALIZE_HTML_JSON_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// The bytes of the code point of UTF-8 at `i`; 0 when there is none.
size_t CodePointBytes(absl::string_view text, size_t i);

// Appends `text` with quotes around it. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);
std::string JsonQuote(absl::string_view text);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_JSON_TEXT_H_
