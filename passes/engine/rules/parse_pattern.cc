// Left sides of rules, and attributes.
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "passes/engine/rules/parser.h"

namespace weft {
namespace {

// The value of a literal that is a word; nullopt for other words.
std::optional<AttrValue> WordLiteral(absl::string_view word) {
  if (word == "true" || word == "false") return AttrValue(word == "true");
  if (std::optional<DType> dtype = ParseDType(word)) return AttrValue(*dtype);
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Pattern> RuleParser::ParsePattern(int used) {
  if (used > Pattern::kMaxNodes) {
    return Error(absl::StrCat("a pattern has at most ", Pattern::kMaxNodes, " nodes"));
  }
  if (AtNumber()) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view number, Number());
    double value = 0;
    (void)absl::SimpleAtod(number, &value);
    return pattern::Splat(value);
  }
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a pattern"));
  if (!Peek("(")) return Variable(name);
  WEFT_ASSIGN_OR_RETURN(const OpDef* op, Op(name));
  return ParseOp(*op, used);
}

absl::StatusOr<Pattern> RuleParser::Variable(absl::string_view name) {
  const int i = IndexOf(name, &rule_->variables);
  WEFT_RETURN_IF_ERROR(CheckVariables());
  return pattern::Variable(i);
}

absl::StatusOr<Pattern> RuleParser::ParseOp(const OpDef& op, int used) {
  Pattern p = pattern::Op(op);
  AttrPattern attrs = {-1, &op, {}};
  WEFT_RETURN_IF_ERROR(Expect("("));
  while (!Take(")")) {
    const absl::string_view attr = TakeAttrName();
    if (!attr.empty()) {
      WEFT_ASSIGN_OR_RETURN(const int i, AttrIndex(op, attr));
      WEFT_ASSIGN_OR_RETURN(AttrTerm term, ParseAttr(/*binds=*/true));
      attrs.attrs.emplace_back(i, std::move(term));
    } else {
      WEFT_ASSIGN_OR_RETURN(const Pattern operand, ParsePattern(used + p.size()));
      if (used + p.size() + operand.size() > Pattern::kMaxNodes + 1) {
        return Error(absl::StrCat("a pattern has at most ", Pattern::kMaxNodes, " nodes"));
      }
      p.Add(operand);
    }
    if (!Take(",") && !Peek(")")) return Error("expected ',' or ')'");
  }
  WEFT_RETURN_IF_ERROR(CheckOperands(op, p.root().num_operands));
  if (Take("as")) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a name"));
    attrs.variable = IndexOf(name, &rule_->variables);
  } else if (!attrs.attrs.empty()) {
    attrs.variable = static_cast<int>(rule_->variables.size());
    rule_->variables.push_back("");
  }
  WEFT_RETURN_IF_ERROR(CheckVariables());
  if (attrs.variable >= 0) p = p.As(pattern::Variable(attrs.variable));
  if (!attrs.attrs.empty()) rule_->attrs.push_back(std::move(attrs));
  return p;
}

absl::Status RuleParser::CheckOperands(const OpDef& op, int n) const {
  const OpSchema& schema = op.schema();
  int required = 0;
  for (const OperandSpec& operand : schema.operands) {
    required += !operand.optional && !operand.variadic;
  }
  const int most = static_cast<int>(schema.operands.size());
  if (n >= required && (n <= most || schema.has_variadic_operand())) {
    return absl::OkStatus();
  }
  return Error(absl::StrCat(op.name(), " has ", n, " operands; the op is ", op.schema_text()));
}

absl::string_view RuleParser::TakeAttrName() {
  const size_t begin = Mark();
  const absl::string_view name = TakeName();
  if (!name.empty() && !Peek("=>") && !Peek("==") && Take("=")) return name;
  Rewind(begin);
  return "";
}

absl::StatusOr<int> RuleParser::AttrIndex(const OpDef& op, absl::string_view name) const {
  const int i = op.schema().FindAttr(name);
  if (i >= 0) return i;
  return Error(absl::StrCat(op.name(), " has no attribute ", name));
}

absl::StatusOr<int> RuleParser::BoundAttr() {
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("an attribute"));
  const int i = Find(name, rule_->attr_names);
  if (i < 0) return Error(absl::StrCat(name, " is not bound by the pattern"));
  return i;
}

absl::StatusOr<AttrTerm> RuleParser::ParseAttr(bool binds) {
  AttrTerm term;
  if (!AtName()) {
    WEFT_ASSIGN_OR_RETURN(term.literal, Literal());
    return term;
  }
  const absl::string_view name = TakeName();
  if (std::optional<AttrValue> literal = WordLiteral(name)) {
    term.literal = *std::move(literal);
    return term;
  }
  if (!binds && Peek("(")) return ParseCall(name);
  term.kind = AttrTerm::Kind::kVariable;
  term.a = binds ? IndexOf(name, &rule_->attr_names) : Find(name, rule_->attr_names);
  if (term.a < 0) {
    return Error(absl::StrCat(name, " is not bound by the pattern"));
  }
  return term;
}

absl::StatusOr<AttrTerm> RuleParser::ParseCall(absl::string_view name) {
  AttrTerm term;
  WEFT_RETURN_IF_ERROR(Expect("("));
  if (name == "dims" || name == "dtype") {
    term.kind = name == "dims" ? AttrTerm::Kind::kDims : AttrTerm::Kind::kDType;
    WEFT_ASSIGN_OR_RETURN(term.a, Bound());
  } else if (name == "compose") {
    term.kind = AttrTerm::Kind::kCompose;
    WEFT_ASSIGN_OR_RETURN(term.a, BoundAttr());
    WEFT_RETURN_IF_ERROR(Expect(","));
    WEFT_ASSIGN_OR_RETURN(term.b, BoundAttr());
  } else {
    return Error(absl::StrCat("no function ", name, ": dims, dtype, compose"));
  }
  WEFT_RETURN_IF_ERROR(Expect(")"));
  return term;
}

absl::StatusOr<AttrValue> RuleParser::Literal() {
  if (Peek("\"")) {
    WEFT_ASSIGN_OR_RETURN(std::string s, String());
    return AttrValue(std::move(s));
  }
  if (Take("[")) {
    std::vector<SymInt> values;
    while (!Take("]")) {
      WEFT_ASSIGN_OR_RETURN(const int64_t value, Integer());
      values.push_back(value);
      if (!Take(",") && !Peek("]")) return Error("expected ',' or ']'");
    }
    return AttrValue(std::move(values));
  }
  WEFT_ASSIGN_OR_RETURN(const absl::string_view number, Number());
  int64_t integer;
  if (absl::SimpleAtoi(number, &integer)) return AttrValue(integer);
  double real = 0;
  (void)absl::SimpleAtod(number, &real);
  return AttrValue(real);
}

absl::StatusOr<AttrValue> RuleParser::LiteralOf(AttrKind kind, absl::string_view name) {
  AttrValue value;
  const absl::string_view word = TakeName();
  if (word.empty()) {
    WEFT_ASSIGN_OR_RETURN(value, Literal());
  } else if (std::optional<AttrValue> literal = WordLiteral(word)) {
    value = *std::move(literal);
  } else {
    return Error(absl::StrCat(word, " is not a value"));
  }
  // Integers stand for floats.
  const SymInt* integer = value.get_if<SymInt>();
  if (integer != nullptr && kind == AttrKind::kFloat) {
    value = static_cast<double>(integer->value());
  }
  const auto* integers = value.get_if<std::vector<SymInt>>();
  if (integers != nullptr && kind == AttrKind::kFloats) {
    std::vector<double> floats;
    for (const SymInt i : *integers) floats.push_back(static_cast<double>(i.value()));
    value = std::move(floats);
  }
  if (value.Matches(kind)) return value;
  return Error(absl::StrCat(name, " cannot be ", value.ToString()));
}

}  // namespace weft
