#include "lowering/plan_text_reader.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weft {

bool ParseIndex(text::TextReader& reader, int* out) {
  const size_t position = reader.position();
  int64_t value = 0;
  if (!reader.ParseInt(&value)) return false;
  if (value < 0 || value > (int64_t{1} << 30)) {
    return reader.Fail(position, "the number is out of range");
  }
  *out = static_cast<int>(value);
  return true;
}

bool ParseNumbered(text::TextReader& reader, absl::string_view prefix, int limit, int* out) {
  const size_t position = reader.position();
  std::string name;
  if (!reader.ParseSigilName(true, &name)) return false;
  absl::string_view digits = name;
  const auto value =
      absl::ConsumePrefix(&digits, prefix) ? text::DigitsToUint64(digits) : std::nullopt;
  if (!value || *value >= static_cast<uint64_t>(limit)) {
    return reader.Fail(position, absl::StrCat("there is no %", name, " here"));
  }
  *out = static_cast<int>(*value);
  return true;
}

bool ParseDType(text::TextReader& reader, DType* out) {
  const auto dtype =
      reader.At(text::kIdentifier) ? weft::ParseDType(reader.token().text) : std::nullopt;
  if (!dtype) return reader.Expected("a dtype");
  *out = *dtype;
  reader.Advance();
  return true;
}

}  // namespace weft
