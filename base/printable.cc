#include "base/printable.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace weft {
namespace {

// A code point and its bytes.
struct Decoded {
  uint32_t code = 0;
  size_t size = 0;  // 0 if the first byte begins no valid sequence.
};

// Bytes of the UTF-8 sequence that begins with `first`; 0 if no sequence begins with it.
size_t LengthOf(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

Decoded Decode(absl::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = LengthOf(first);
  if (length == 0 || length > text.size()) return {};
  Decoded d = {length == 1 ? first : first & (0x7fu >> length), length};
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    d.code = d.code << 6 | (byte & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = d.code >= 0xd800 && d.code < 0xe000;
  return d.code < kLeast[length] || d.code > 0x10ffff || surrogate ? Decoded() : d;
}

// True for code points that a terminal obeys: controls, line separators, direction marks.
bool IsObeyed(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string WriteOut(absl::string_view text, absl::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    // Fast path: most text is ASCII.
    const auto plain = static_cast<size_t>(
        std::find_if_not(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }) -
        text.begin());
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) return out;
    const Decoded d = Decode(text);
    const absl::string_view bytes = text.substr(0, std::max<size_t>(d.size, 1));
    if (d.size == 0) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(text[0]));
    } else if (IsObeyed(d.code) && kept.find(bytes[0]) == absl::string_view::npos) {
      absl::StrAppendFormat(&out, "\\u%04x", d.code);
    } else {
      out.append(bytes.data(), bytes.size());
    }
    text.remove_prefix(bytes.size());
  }
}

}  // namespace

std::string Printable(absl::string_view text) { return WriteOut(text, "\n\t"); }

std::string PrintableName(absl::string_view name) { return WriteOut(name, ""); }

size_t UnfinishedBytes(absl::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return LengthOf(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace weft
