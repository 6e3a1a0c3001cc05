#include "serialize/html/json_text.h"

#include "absl/strings/str_format.h"

namespace weft {

size_t CodePointBytes(absl::string_view text, size_t i) {
  const auto at = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  // Lead bytes below 0xc2 are continuations and overlong forms; those above 0xf4 are invalid.
  const size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || i + bytes > text.size()) return 0;
  for (size_t k = 1; k < bytes; ++k) {
    if (at(k) < 0x80 || at(k) > 0xbf) return 0;
  }
  // Rejects overlong forms, surrogates, and code points past the last one.
  if ((lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) > 0x9f)) return 0;
  if ((lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) > 0x8f)) return 0;
  return bytes;
}

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = CodePointBytes(text, i);
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (bytes == 0) {
      out->append("\\ufffd");
    } else if (bytes > 1) {
      out->append(text.data() + i, bytes);
    } else if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(text[i]);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c < 0x20 || c == 0x7f || c == '<') {
      absl::StrAppendFormat(out, "\\u%04x", c);
    } else {
      out->push_back(text[i]);
    }
    i += bytes == 0 ? 1 : bytes;
  }
  out->push_back('"');
}

std::string JsonQuote(absl::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

}  // namespace weft
