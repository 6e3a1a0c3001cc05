#include "base/quote.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace weft {

std::string Quote(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
          absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

bool IsIdentifier(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name[0]) || name[0] == '.') return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return true;
}

std::string NameToString(absl::string_view name) {
  return IsIdentifier(name) ? std::string(name) : Quote(name);
}

}  // namespace weft
