// The parser of op schemas (op_schema.h has the notation).
#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/ir/op_schema.h"

namespace weft {
namespace {

using absl::ConsumePrefix;
using absl::string_view;

absl::Status SchemaError(string_view schema, string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("schema \"", schema, "\": ", message));
}

// Splits at commas outside of brackets.
std::vector<string_view> SplitList(string_view text) {
  std::vector<string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      string_view part = absl::StripAsciiWhitespace(text.substr(begin, i - begin));
      if (!part.empty()) parts.push_back(part);
      begin = i + 1;
    } else if (text[i] == '[' || text[i] == '(') {
      ++depth;
    } else if (text[i] == ']' || text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

// "(a!)" after Tensor.
void ParseAlias(string_view* type, std::string* alias, bool* written) {
  if (!ConsumePrefix(type, "(")) return;
  const size_t close = type->find(')');
  string_view set = type->substr(0, close);
  *written = absl::ConsumeSuffix(&set, "!");
  *alias = std::string(set);
  type->remove_prefix(close == string_view::npos ? type->size() : close + 1);
}

std::optional<AttrKind> ParseAttrKind(string_view type, bool list) {
  if (type == "bool" && !list) return AttrKind::kBool;
  if (type == "int") return list ? AttrKind::kInts : AttrKind::kInt;
  if (type == "SymInt") return list ? AttrKind::kSymInts : AttrKind::kSymInt;
  if (type == "float") return list ? AttrKind::kFloats : AttrKind::kFloat;
  if (type == "str") return list ? AttrKind::kStrings : AttrKind::kString;
  if (type == "ScalarType" && !list) return AttrKind::kDType;
  return std::nullopt;
}

std::optional<AttrValue> ParseDefault(AttrKind kind, string_view text) {
  if (text == "None") return AttrValue();
  switch (kind) {
    case AttrKind::kBool:
      return AttrValue(text == "True" || text == "true");
    case AttrKind::kInt:
    case AttrKind::kSymInt: {
      int64_t v;
      if (!absl::SimpleAtoi(text, &v)) return std::nullopt;
      return AttrValue(v);
    }
    case AttrKind::kFloat: {
      double v;
      if (!absl::SimpleAtod(text, &v)) return std::nullopt;
      return AttrValue(v);
    }
    case AttrKind::kString:
      return AttrValue(absl::StripSuffix(absl::StripPrefix(text, "\""), "\""));
    case AttrKind::kDType: {
      auto dtype = ParseDType(text);
      if (!dtype) return std::nullopt;
      return AttrValue(*dtype);
    }
    default:
      break;
  }
  if (!ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]")) {
    return std::nullopt;
  }
  std::vector<SymInt> ints;
  std::vector<double> floats;
  for (string_view item : SplitList(text)) {
    double d;
    int64_t i;
    if (absl::SimpleAtoi(item, &i)) ints.push_back(i);
    if (absl::SimpleAtod(item, &d)) floats.push_back(d);
  }
  if (kind == AttrKind::kFloats) return AttrValue(floats);
  if (kind == AttrKind::kStrings) return AttrValue(std::vector<std::string>());
  return AttrValue(ints);
}

absl::Status ParseArgument(string_view text, OpSchema* schema, string_view whole) {
  std::optional<string_view> default_text;
  const size_t equals = text.find('=');
  if (equals != string_view::npos) {
    default_text = absl::StripAsciiWhitespace(text.substr(equals + 1));
    text = absl::StripAsciiWhitespace(text.substr(0, equals));
  }
  const size_t space = text.rfind(' ');
  if (space == string_view::npos) {
    return SchemaError(whole, absl::StrCat("\"", text, "\" has no name"));
  }
  string_view type = text.substr(0, space);
  const std::string name(text.substr(space + 1));
  const bool optional = absl::ConsumeSuffix(&type, "?");
  if (type == "Graph") {
    schema->regions.push_back(name);
    return absl::OkStatus();
  }
  if (ConsumePrefix(&type, "Tensor") || type == "SymInt*") {
    if (!schema->attrs.empty() || !schema->regions.empty() || schema->has_variadic_operand()) {
      return SchemaError(whole, "operands come first and a list comes last");
    }
    OperandSpec operand;
    operand.name = name;
    operand.optional = optional;
    operand.symint = ConsumePrefix(&type, "SymInt*");
    ParseAlias(&type, &operand.alias, &operand.written);
    operand.variadic = ConsumePrefix(&type, "[]");
    if (!type.empty()) return SchemaError(whole, absl::StrCat("type of ", name));
    schema->operands.push_back(std::move(operand));
    return absl::OkStatus();
  }
  AttrSpec attr;
  attr.name = name;
  attr.optional = optional;
  const bool list = absl::ConsumeSuffix(&type, "[]");
  const auto kind = ParseAttrKind(type, list);
  if (!kind) return SchemaError(whole, absl::StrCat("unknown type of ", name));
  attr.kind = *kind;
  if (default_text) {
    attr.default_value = ParseDefault(*kind, *default_text);
    if (!attr.default_value) {
      return SchemaError(whole, absl::StrCat("default of ", name));
    }
  } else if (optional) {
    attr.default_value = AttrValue();
  }
  schema->attrs.push_back(std::move(attr));
  return absl::OkStatus();
}

absl::Status ParseResult(string_view text, OpSchema* schema, string_view whole) {
  ResultSpec result;
  const size_t space = text.rfind(' ');
  if (space != string_view::npos) {
    result.name = std::string(text.substr(space + 1));
    text = text.substr(0, space);
  } else {
    result.name = absl::StrCat("out", schema->results.size());
  }
  bool written = false;
  if (ConsumePrefix(&text, "Tensor")) {
    ParseAlias(&text, &result.alias, &written);
    result.variadic = ConsumePrefix(&text, "[]");
  } else if (ConsumePrefix(&text, "SymInt")) {
    result.symint = true;
  }
  if (!text.empty()) return SchemaError(whole, "type of a result");
  schema->results.push_back(std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpSchema> OpSchema::Parse(string_view text) {
  OpSchema schema;
  const size_t arrow = text.find(" -> ");
  const size_t open = text.find('(');
  if (arrow == string_view::npos || open > arrow || text[arrow - 1] != ')') {
    return SchemaError(text, "expected name(arguments) -> results");
  }
  schema.name = std::string(text.substr(0, open));
  for (string_view argument : SplitList(text.substr(open + 1, arrow - open - 2))) {
    if (argument == "*") continue;
    WEFT_RETURN_IF_ERROR(ParseArgument(argument, &schema, text));
  }
  string_view results = text.substr(arrow + 4);
  if (ConsumePrefix(&results, "(")) absl::ConsumeSuffix(&results, ")");
  for (string_view result : SplitList(results)) {
    WEFT_RETURN_IF_ERROR(ParseResult(result, &schema, text));
  }
  for (const OperandSpec& operand : schema.operands) {
    if (operand.written) schema.writes = true;
  }
  for (const ResultSpec& result : schema.results) {
    if (result.alias.empty()) continue;
    const auto in_set = [&result](const OperandSpec& operand) {
      return operand.alias == result.alias;
    };
    const auto operand = std::find_if(schema.operands.begin(), schema.operands.end(), in_set);
    if (operand == schema.operands.end()) {
      return SchemaError(text, absl::StrCat("no operand is in alias set ", result.alias));
    }
    if (!operand->written) schema.views = true;
  }
  return schema;
}

int OpSchema::num_fixed_operands() const {
  return static_cast<int>(operands.size()) - has_variadic_operand();
}

namespace {

// The operand in the alias set of result `i` whose `written` mark is equal, or -1.
int OperandInSet(const OpSchema& schema, int i, bool written) {
  const int last = static_cast<int>(schema.results.size()) - 1;
  if (last < 0) return -1;
  const std::string& alias = schema.results[std::min(i, last)].alias;
  if (alias.empty()) return -1;
  for (size_t k = 0; k < schema.operands.size(); ++k) {
    const OperandSpec& operand = schema.operands[k];
    if (operand.alias == alias && operand.written == written) {
      return static_cast<int>(k);
    }
  }
  return -1;
}

}  // namespace

int OpSchema::ViewedOperand(int i) const { return views ? OperandInSet(*this, i, false) : -1; }

int OpSchema::WrittenOperand(int i) const { return writes ? OperandInSet(*this, i, true) : -1; }

bool OpSchema::has_variadic_operand() const {
  return !operands.empty() && operands.back().variadic;
}

bool OpSchema::has_variadic_result() const { return !results.empty() && results.back().variadic; }

int OpSchema::FindAttr(string_view name) const {
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace weft
