// JSON text that is safe inside a <script> element: every '<' is escaped, so no text can end the
// element or begin a comment in it.
#ifndef WEFT_SERIALIZE_HTML_JSON_TEXT_H_
#define WEFT_SERIALIZE_HTML_JSON_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Bytes of the UTF-8 code point at `i`; 0 if there is no valid one.
size_t CodePointBytes(absl::string_view text, size_t i);

// Appends `text` with quotes around it. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);
std::string JsonQuote(absl::string_view text);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_JSON_TEXT_H_
