#include "graph/text/parts/text_lexer.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::text {
namespace {

enum CharClass : uint8_t {
  kDigit = 1,
  kNameStart = 2,
  kNameRest = 4,
  kSpace = 8,
  kHexDigit = 16,
  kEndsString = 32,
};

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes = {};
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit | kNameRest | kHexDigit;
  for (int c = 'a'; c <= 'z'; ++c) {
    classes[c] = kNameStart | kNameRest;
    classes[c - 32] = kNameStart | kNameRest;
  }
  for (int c = 'a'; c <= 'f'; ++c) {
    classes[c] |= kHexDigit;
    classes[c - 32] |= kHexDigit;
  }
  classes['_'] = kNameStart | kNameRest;
  classes['.'] = kNameRest;
  for (char c : {' ', '\t', '\r', '\n'}) classes[static_cast<int>(c)] |= kSpace;
  for (char c : {'"', '\\', '\n'}) classes[static_cast<int>(c)] |= kEndsString;
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

bool Is(char c, int classes) { return kClasses[static_cast<uint8_t>(c)] & classes; }

// The first offset from `i` on whose character is not of `classes`.
size_t SkipWhile(absl::string_view text, size_t i, int classes) {
  while (i < text.size() && Is(text[i], classes)) ++i;
  return i;
}

std::optional<int> HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

bool Lexer::IsComment() const {
  if (text_.compare(position_, 2, "//") != 0) return false;
  if (depth_ <= 0) return true;
  for (size_t i = position_; i-- > 0;) {
    if (text_[i] == '\n') return true;
    if (!Is(text_[i], kSpace)) return false;
  }
  return true;
}

void Lexer::SkipSpace() {
  while (true) {
    position_ = SkipWhile(text_, position_, kSpace);
    if (position_ >= text_.size() || text_[position_] != '/') return;
    if (!IsComment()) return;
    position_ = std::min(text_.find('\n', position_), text_.size());
  }
}

Token Lexer::Make(int kind, size_t begin, size_t end, size_t skip, size_t drop) {
  position_ = end;
  Token token;
  token.kind = kind;
  token.text = text_.substr(begin + skip, end - begin - skip - drop);
  token.begin = begin;
  token.end = end;
  return token;
}

Token Lexer::Next() {
  SkipSpace();
  const size_t begin = position_;
  if (begin >= text_.size()) return Make(kEnd, text_.size(), text_.size());
  const char c = text_[begin];
  if (c == '%' || c == '@') return Sigil(begin);
  if (Is(c, kNameStart)) {
    return Make(kIdentifier, begin, SkipWhile(text_, begin + 1, kNameRest));
  }
  if (Is(c, kDigit)) return Number(begin);
  if (c == '"') return Quoted(kString, begin, begin);
  return Punctuation(begin);
}

Token Lexer::Number(size_t begin) {
  const auto at = [this](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  int kind = kInteger;
  size_t end;
  if (at(begin) == '0' && at(begin + 1) == 'x') {
    kind = kHex;
    end = SkipWhile(text_, begin + 2, kHexDigit);
    if (end == begin + 2) kind = kBad;
  } else {
    end = SkipWhile(text_, begin, kDigit);
    if (at(end) == '.' && at(end + 1) != '.') {
      kind = kFloat;
      end = SkipWhile(text_, end + 1, kDigit);
    }
    if (at(end) == 'e' || at(end) == 'E') {
      size_t digits = end + 1;
      if (at(digits) == '+' || at(digits) == '-') ++digits;
      kind = Is(at(digits), kDigit) ? kFloat : kBad;
      end = SkipWhile(text_, digits, kDigit);
    }
  }
  if (Is(at(end), kNameStart)) {
    return Make(kBad, begin, SkipWhile(text_, end, kNameRest));
  }
  return Make(kind, begin, end);
}

Token Lexer::Quoted(int kind, size_t begin, size_t quote) {
  size_t i = quote + 1;
  while (true) {
    while (i < text_.size() && !Is(text_[i], kEndsString)) ++i;
    if (i + 1 < text_.size() && text_[i] == '\\' && text_[i + 1] != '\n') {
      i += 2;
      continue;
    }
    if (i < text_.size() && text_[i] == '"') {
      return Make(kind, begin, i + 1, quote + 1 - begin, 1);
    }
    return Make(kBad, begin, std::min(i, text_.size()));
  }
}

Token Lexer::Sigil(size_t begin) {
  const bool value = text_[begin] == '%';
  const size_t next = begin + 1;
  if (next < text_.size() && text_[next] == '"') {
    return Quoted(value ? kQuotedValue : kQuotedGlobal, begin, next);
  }
  const size_t end = SkipWhile(text_, next, kNameRest);
  if (end == next) return Make(value ? int{'%'} : int{kBad}, begin, next);
  if (Is(text_[next], kDigit) && SkipWhile(text_, next, kDigit) != end) {
    return Make(kBad, begin, end);
  }
  return Make(value ? kValue : kGlobal, begin, end, 1);
}

Token Lexer::Punctuation(size_t begin) {
  struct Pair {
    char first, second;
    int kind;
  };
  static constexpr Pair kPairs[] = {
      {'-', '>', kArrow}, {'/', '/', kFloorDiv}, {'<', '=', kLessEqual}, {'>', '=', kGreaterEqual},
      {'=', '=', kEqual}, {'!', '=', kNotEqual}, {'.', '.', kRange}};
  const char c = text_[begin];
  for (const Pair& pair : kPairs) {
    if (c == pair.first && begin + 1 < text_.size() && text_[begin + 1] == pair.second) {
      return Make(pair.kind, begin, begin + 2);
    }
  }
  if (c == '(' || c == '[') ++depth_;
  if (c == ')' || c == ']') --depth_;
  const bool known = absl::string_view("()[]{},:=<>+-*!").find(c) != absl::string_view::npos;
  return Make(known ? int{c} : int{kBad}, begin, begin + 1);
}

std::optional<std::string> Unescape(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i >= text.size()) return std::nullopt;
    switch (text[i]) {
      case '"':
      case '\\':
        out += text[i];
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'x': {
        if (i + 2 >= text.size()) return std::nullopt;
        const auto high = HexValue(text[i + 1]);
        const auto low = HexValue(text[i + 2]);
        if (!high || !low) return std::nullopt;
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

std::pair<size_t, size_t> LineAndColumn(absl::string_view text, size_t position) {
  const absl::string_view before = text.substr(0, position);
  const size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == absl::string_view::npos ? position : position - newline - 1;
  return {line, column + 1};
}

}  // namespace weft::text
