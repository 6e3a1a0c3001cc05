// Errors, names, numbers and attributes of the text form.
#include "graph/text/parts/text_reader.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/op_schema.h"

namespace weft::text {
namespace {

std::string KindToString(int kind) {
  switch (kind) {
    case kIdentifier:
      return "a name";
    case kInteger:
      return "an integer";
    case kString:
      return "a string";
    case kValue:
      return "a value such as %x";
    case kGlobal:
      return "a name such as @main";
    case kArrow:
      return "\"->\"";
    case kEqual:
      return "\"==\"";
    case kLessEqual:
      return "\"<=\"";
    case kRange:
      return "\"..\"";
    default:
      return absl::StrCat("\"", std::string(1, static_cast<char>(kind)), "\"");
  }
}

std::string Describe(const Token& token, absl::string_view text) {
  if (token.kind == kEnd) return "the end of the text";
  constexpr size_t kMaxShown = 40;
  const absl::string_view shown =
      text.substr(token.begin, std::max<size_t>(token.end - token.begin, 1));
  if (token.kind == kBad && shown[0] == '"') return "an unterminated string";
  if (shown.size() <= kMaxShown) return Quote(shown);
  return absl::StrCat(Quote(shown.substr(0, kMaxShown)), "...");
}

template <typename T>
std::optional<T> FromChars(absl::string_view text) {
  T value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc()) return value;
  // Underflow gives zero, overflow is an error. The exponent shows which of them happened.
  const size_t e = text.find_first_of("eE");
  const bool tiny = (e != absl::string_view::npos && e + 1 < text.size() && text[e + 1] == '-') ||
                    (!text.empty() && text[0] == '0');
  if (tiny) return T{0};
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> DigitsToUint64(absl::string_view digits) {
  uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<uint64_t> HexToUint64(absl::string_view text) {
  uint64_t value = 0;
  const auto result = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> ParseDecimal(absl::string_view text) { return FromChars<double>(text); }

std::optional<float> ParseDecimalFloat(absl::string_view text) { return FromChars<float>(text); }

bool TextReader::Fail(size_t position, absl::string_view message) {
  if (!status_.ok()) return false;
  const auto [line, column] = LineAndColumn(text(), position);
  status_ =
      absl::InvalidArgumentError(absl::StrCat(filename_, ":", line, ":", column, ": ", message));
  return false;
}

bool TextReader::Expected(absl::string_view what) {
  return Fail(token_.begin, absl::StrCat("expected ", what, ", found ", Describe(token_, text())));
}

bool TextReader::ExpectedKind(int kind) { return Expected(KindToString(kind)); }

bool TextReader::ExpectWord(absl::string_view word) {
  return AcceptWord(word) || Expected(absl::StrCat("\"", word, "\""));
}

bool TextReader::ParseString(std::string* out) {
  if (!At(kString)) return ExpectedKind(kString);
  auto text = Unescape(token_.text);
  if (!text) return Fail(token_.begin, "unknown escape in a string");
  *out = *std::move(text);
  Advance();
  return true;
}

bool TextReader::ParseSigilName(bool value, std::string* out) {
  if (At(value ? kValue : kGlobal)) {
    *out = std::string(token_.text);
  } else if (At(value ? kQuotedValue : kQuotedGlobal)) {
    auto text = Unescape(token_.text);
    if (!text) return Fail(token_.begin, "unknown escape in a name");
    *out = *std::move(text);
  } else {
    return ExpectedKind(value ? kValue : kGlobal);
  }
  Advance();
  return true;
}

bool TextReader::ParseUnsigned(uint64_t* out) {
  if (!At(kInteger)) return ExpectedKind(kInteger);
  const auto value = DigitsToUint64(token_.text);
  if (!value) return Fail(token_.begin, "the integer passes 64 bits");
  *out = *value;
  Advance();
  return true;
}

bool TextReader::ParseInt(int64_t* out) {
  const size_t begin = position();
  const bool negative = Accept('-');
  uint64_t magnitude;
  if (!ParseUnsigned(&magnitude)) return false;
  const uint64_t limit = uint64_t{1} << 63;
  if (magnitude > limit - (negative ? 0 : 1)) {
    return Fail(begin, "the integer passes 64 bits");
  }
  *out = static_cast<int64_t>(negative ? uint64_t{0} - magnitude : magnitude);
  return true;
}

bool TextReader::ParseDouble(double* out) {
  const bool negative = Accept('-');
  double value = 0;
  if (At(kInteger) || At(kFloat)) {
    const auto parsed = ParseDecimal(token_.text);
    if (!parsed) return Fail(position(), "the number is too large");
    value = *parsed;
  } else if (At(kHex)) {
    const auto bits = HexToUint64(token_.text);
    if (!bits || negative) return Fail(position(), "these are no bits of a double");
    std::memcpy(&value, &*bits, sizeof(value));
  } else if (AtWord("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (AtWord("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    return Expected("a number");
  }
  Advance();
  *out = negative ? -value : value;
  return true;
}

// --- Attributes ------------------------------------------------------------

template <typename T, typename Fn>
bool TextReader::ParseList(Fn parse, std::vector<T>* out) {
  if (!Expect('[')) return false;
  if (Accept(']')) return true;
  do {
    T item{};
    if (!parse(&item)) return false;
    out->push_back(std::move(item));
  } while (Accept(','));
  return Expect(']');
}

bool TextReader::ParseScalarAttr(AttrKind kind, AttrValue* out) {
  const size_t begin = position();
  switch (kind) {
    case AttrKind::kBool:
      if (!AtWord("true") && !AtWord("false")) return Expected("true or false");
      *out = AtWord("true");
      Advance();
      return true;
    case AttrKind::kInt:
    case AttrKind::kSymInt: {
      SymInt value;
      if (!ParseSymInt(&value)) return false;
      if (kind == AttrKind::kInt && !value.is_constant()) {
        return Fail(begin, absl::StrCat("expected a constant integer, found ", value.ToString()));
      }
      *out = value;
      return true;
    }
    case AttrKind::kFloat: {
      double value;
      if (!ParseDouble(&value)) return false;
      *out = value;
      return true;
    }
    case AttrKind::kString: {
      std::string value;
      if (!ParseString(&value)) return false;
      *out = std::move(value);
      return true;
    }
    default:
      break;
  }
  const auto dtype = At(kIdentifier) ? ParseDType(token_.text) : std::optional<DType>();
  if (!dtype) return Expected("a dtype such as f32");
  *out = *dtype;
  Advance();
  return true;
}

bool TextReader::ParseListAttr(AttrKind kind, AttrValue* out) {
  if (kind == AttrKind::kFloats) {
    std::vector<double> values;
    if (!ParseList([this](double* v) { return ParseDouble(v); }, &values)) {
      return false;
    }
    *out = std::move(values);
    return true;
  }
  if (kind == AttrKind::kStrings) {
    std::vector<std::string> values;
    if (!ParseList([this](std::string* v) { return ParseString(v); }, &values)) {
      return false;
    }
    *out = std::move(values);
    return true;
  }
  const size_t begin = position();
  std::vector<SymInt> values;
  if (!ParseList([this](SymInt* v) { return ParseSymInt(v); }, &values)) {
    return false;
  }
  if (kind == AttrKind::kInts && !AllConstant(values)) {
    return Fail(begin, absl::StrCat("expected constant integers, found ", ToString(values)));
  }
  *out = std::move(values);
  return true;
}

bool TextReader::ParseAttrValue(const AttrSpec& spec, AttrValue* out) {
  const bool may_be_none = spec.optional || (spec.default_value && !spec.default_value->present());
  if (may_be_none && AcceptWord("none")) {
    *out = AttrValue();
    return true;
  }
  switch (spec.kind) {
    case AttrKind::kInts:
    case AttrKind::kSymInts:
    case AttrKind::kFloats:
    case AttrKind::kStrings:
      return ParseListAttr(spec.kind, out);
    default:
      return ParseScalarAttr(spec.kind, out);
  }
}

bool TextReader::ParseAttribute(const OpSchema& schema, std::vector<AttrValue>* values,
                                std::vector<bool>* given) {
  if (!At(kIdentifier)) return Expected("an attribute");
  const absl::string_view name = token_.text;
  const int i = schema.FindAttr(name);
  if (i < 0) {
    std::string known;
    for (const AttrSpec& spec : schema.attrs) {
      absl::StrAppend(&known, known.empty() ? "" : ", ", spec.name);
    }
    return Fail(position(), absl::StrCat(schema.name, " has no attribute \"", name, "\"; it has ",
                                         known.empty() ? "none" : known));
  }
  if ((*given)[i]) {
    return Fail(position(), absl::StrCat("attribute ", name, " is given twice"));
  }
  Advance();
  if (!Expect('=')) return false;
  (*given)[i] = true;
  return ParseAttrValue(schema.attrs[i], &(*values)[i]);
}

bool TextReader::FinishAttributes(const OpSchema& schema, size_t position,
                                  std::vector<AttrValue>* values, const std::vector<bool>& given) {
  for (size_t i = 0; i < schema.attrs.size(); ++i) {
    if (given[i]) continue;
    if (!schema.attrs[i].default_value) {
      return Fail(position,
                  absl::StrCat(schema.name, ": attribute ", schema.attrs[i].name, " is missing"));
    }
    (*values)[i] = *schema.attrs[i].default_value;
  }
  return true;
}

}  // namespace weft::text
