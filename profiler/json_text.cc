#include "profiler/json_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace weft::profiler {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

bool IsPlain(unsigned char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void AppendEscaped(unsigned char c, std::string* out) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\t':
      out->append("\\t");
      return;
    case '\r':
      out->append("\\r");
      return;
    default: {
      constexpr char kHex[] = "0123456789abcdef";
      out->append("\\u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
    }
  }
}

}  // namespace

int Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
  if (first < 0xE0) return 2;
  if (!follows(2)) return 0;
  if (first < 0xF0) {
    // Rejects encodings that are too long, and surrogates.
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return 3;
  }
  if (!follows(3) || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return 4;
}

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  size_t begin = 0;  // Beginning of the text that is copied unchanged.
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const int length = IsPlain(c) ? 1 : c < 0x80 ? 0 : Utf8Length(text.substr(i));
    if (length > 0) {
      i += length;
      continue;
    }
    out->append(text.data() + begin, i - begin);
    if (c < 0x80) {
      AppendEscaped(c, out);
    } else {
      out->append(kReplacement);
    }
    begin = ++i;
  }
  out->append(text.data() + begin, text.size() - begin);
  out->push_back('"');
}

void AppendJsonDouble(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char text[32];
  for (int digits : {15, 17}) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  out->append(text);
}

void AppendJsonValue(const ArgValue& value, std::string* out) {
  switch (value.kind) {
    case ArgValue::Kind::kInt:
      absl::StrAppend(out, value.integer);
      return;
    case ArgValue::Kind::kDouble:
      AppendJsonDouble(value.number, out);
      return;
    case ArgValue::Kind::kBool:
      out->append(value.integer != 0 ? "true" : "false");
      return;
    case ArgValue::Kind::kString:
      AppendJsonString(value.text, out);
      return;
    case ArgValue::Kind::kJson:
      out->append(value.text.data(), value.text.size());
      return;
  }
}

void AppendMicroseconds(int64_t nanoseconds, std::string* out) {
  uint64_t magnitude = static_cast<uint64_t>(nanoseconds);
  if (nanoseconds < 0) {
    out->push_back('-');
    magnitude = 0 - magnitude;
  }
  const int rest = static_cast<int>(magnitude % 1000);
  absl::StrAppend(out, magnitude / 1000);
  const char digits[4] = {'.', static_cast<char>('0' + rest / 100),
                          static_cast<char>('0' + rest / 10 % 10),
                          static_cast<char>('0' + rest % 10)};
  out->append(digits, 4);
}

}  // namespace weft::profiler
