// JSON text that may stand inside a <script> element: every '<' is escaped, so no
// text ends the element or begins a comment in it.
#ifndef WEFT_SERIALIZE_HTML_JSON_TEXT_H_
#define WEFT_SERIALIZE_HTML_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Appends `text` with quotes around it. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);
std::string JsonQuote(absl::string_view text);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_JSON_TEXT_H_
