#include "serialize/pt2/aten_schema.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace weft::pt2 {
namespace {

using Kind = Argument::Kind;

absl::Status Bad(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("not an operator schema: \"", text, "\""));
}

// Splits at commas outside of brackets and quotes.
std::vector<absl::string_view> SplitArgs(absl::string_view text) {
  std::vector<absl::string_view> pieces;
  int depth = 0;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      pieces.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  const auto last = absl::StripAsciiWhitespace(text.substr(begin));
  if (!last.empty()) pieces.push_back(last);
  return pieces;
}

absl::StatusOr<Argument> ParseDefault(absl::string_view type, absl::string_view text) {
  Argument a;
  int64_t integer;
  double number;
  if (text == "None") return a;
  if (text == "True" || text == "False") {
    a.kind = Kind::kBool;
    a.integer = text == "True";
  } else if (absl::StartsWith(text, "\"")) {
    a.kind = Kind::kString;
    a.name = std::string(text.substr(1, text.size() - 2));
  } else if (absl::StartsWith(text, "[")) {
    a.kind = Kind::kList;
    for (absl::string_view item : SplitArgs(text.substr(1, text.size() - 2))) {
      WEFT_ASSIGN_OR_RETURN(Argument parsed, ParseDefault(type, item));
      a.items.push_back(std::move(parsed));
    }
  } else if (absl::SimpleAtoi(text, &integer)) {
    a.kind = Kind::kInt;
    a.integer = integer;
  } else if (absl::SimpleAtod(text, &number)) {
    a.kind = Kind::kFloat;
    a.number = number;
  } else {
    return Bad(text);
  }
  // A single number as the default of a list applies to all elements; the operators accept one
  // element for that. float arguments may have an integer default.
  if (absl::StartsWith(type, "float") && a.kind == Kind::kInt) {
    a.kind = Kind::kFloat;
    a.number = static_cast<double>(a.integer);
  }
  if (absl::StartsWith(type, "ScalarType") && a.kind == Kind::kInt) {
    // Schemas number dtypes from 0, archives from 1; up to bool the order is the same.
    constexpr int64_t kBool = 11;
    if (a.integer < 0 || a.integer > kBool) return Bad(text);
    a.kind = Kind::kDType;
    a.integer += 1;
  }
  return a;
}

// Removes "(a! -> *)" from the type; returns the alias set.
std::string TakeAlias(std::string* type, bool* written) {
  const size_t open = type->find('(');
  const size_t close = type->find(')');
  if (open == std::string::npos || close == std::string::npos) return "";
  std::string marks = type->substr(open + 1, close - open - 1);
  type->erase(open, close - open + 1);
  *written = absl::StrContains(marks, "!");
  return marks.substr(0, marks.find_first_of("!| "));
}

// The type ends at the last blank before the name, outside of brackets.
absl::StatusOr<AtenArg> ParseArg(absl::string_view text) {
  AtenArg arg;
  int depth = 0;
  size_t end = absl::string_view::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == ' ' && depth == 0) {
      end = i;
      break;
    }
  }
  if (end == absl::string_view::npos) return Bad(text);
  arg.type = std::string(text.substr(0, end));
  arg.alias = TakeAlias(&arg.type, &arg.written);
  const std::pair<absl::string_view, absl::string_view> named =
      absl::StrSplit(text.substr(end + 1), absl::MaxSplits('=', 1));
  arg.name = std::string(named.first);
  if (absl::StrContains(text.substr(end), "=")) {
    WEFT_ASSIGN_OR_RETURN(arg.default_value, ParseDefault(arg.type, named.second));
  }
  return arg;
}

}  // namespace

int AtenSchema::Find(absl::string_view arg) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg) return static_cast<int>(i);
  }
  return -1;
}

int AtenSchema::WrittenArg() const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].written) return static_cast<int>(i);
  }
  return -1;
}

bool AtenSchema::IsView() const {
  for (const AtenResult& result : results) {
    if (!result.alias.empty() && !result.written) return true;
  }
  return false;
}

absl::StatusOr<AtenSchema> AtenSchema::Parse(absl::string_view text) {
  AtenSchema schema;
  const size_t open = text.find('(');
  const size_t arrow = text.rfind(" -> ");
  if (open == absl::string_view::npos || arrow == absl::string_view::npos || arrow < open ||
      text[arrow - 1] != ')') {
    return Bad(text);
  }
  schema.name = std::string(text.substr(0, open));
  if (!absl::StrContains(schema.name, ".")) schema.name += ".default";
  for (absl::string_view piece : SplitArgs(text.substr(open + 1, arrow - open - 2))) {
    if (piece == "*") continue;
    WEFT_ASSIGN_OR_RETURN(AtenArg arg, ParseArg(piece));
    schema.args.push_back(std::move(arg));
  }
  absl::string_view results = text.substr(arrow + 4);
  if (absl::StartsWith(results, "(")) {
    results = results.substr(1, results.size() - 2);
  }
  for (absl::string_view piece : SplitArgs(results)) {
    AtenResult result;
    std::string type(piece);
    result.alias = TakeAlias(&type, &result.written);
    result.list = absl::StrContains(type, "[]");
    schema.results.push_back(std::move(result));
  }
  return schema;
}

}  // namespace weft::pt2
