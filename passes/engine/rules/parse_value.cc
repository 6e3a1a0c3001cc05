// Right sides of rules, and conditions.
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "passes/engine/rules/parser.h"

namespace weft {

absl::Status RuleParser::ParseValue() {
  if (rule_->value.size() >= Pattern::kMaxNodes) {
    return Error(absl::StrCat("a right side has at most ", Pattern::kMaxNodes, " nodes"));
  }
  const size_t place = rule_->value.size();
  rule_->value.emplace_back();
  if (AtNumber()) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view number, Number());
    (void)absl::SimpleAtod(number, &rule_->value[place].number);
    return absl::OkStatus();
  }
  const size_t begin = Mark();
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a value"));
  if (!Take("(")) {
    Rewind(begin);
    WEFT_ASSIGN_OR_RETURN(rule_->value[place].variable, Bound());
    return absl::OkStatus();
  }
  WEFT_ASSIGN_OR_RETURN(rule_->value[place].op, Op(name));
  return ParseOperands(place);
}

absl::Status RuleParser::ParseOperands(size_t place) {
  const OpDef& op = *rule_->value[place].op;
  while (!Take(")")) {
    const absl::string_view attr = TakeAttrName();
    if (attr.empty()) {
      ++rule_->value[place].num_operands;
      WEFT_RETURN_IF_ERROR(ParseValue());
    } else {
      WEFT_RETURN_IF_ERROR(AttrIndex(op, attr).status());
      WEFT_ASSIGN_OR_RETURN(AttrTerm term, ParseAttr(/*binds=*/false));
      rule_->value[place].attrs.emplace_back(std::string(attr), std::move(term));
    }
    if (!Take(",") && !Peek(")")) return Error("expected ',' or ')'");
  }
  return CheckOperands(op, rule_->value[place].num_operands);
}

absl::Status RuleParser::ParseConditions() {
  constexpr size_t kMax = RuleGuards::kMax - 2;
  do {
    if (rule_->conditions.size() == kMax) {
      return Error(absl::StrCat("more than ", kMax, " conditions"));
    }
    const size_t begin = Mark();
    Condition c;
    WEFT_RETURN_IF_ERROR(ParseCondition(&c));
    c.text = std::string(Since(begin));
    rule_->conditions.push_back(std::move(c));
  } while (Take(","));
  return absl::OkStatus();
}

absl::Status RuleParser::ParseCondition(Condition* c) {
  if (Take("one_use")) {
    c->kind = Condition::Kind::kOneUse;
    WEFT_RETURN_IF_ERROR(Expect("("));
    WEFT_ASSIGN_OR_RETURN(c->left.variable, Bound());
    return Expect(")");
  }
  WEFT_ASSIGN_OR_RETURN(c->left, ParseTerm());
  bool swap = false;
  if (Take("==")) {
    c->kind = Condition::Kind::kEq;
  } else if (Take("!=")) {
    c->kind = Condition::Kind::kNe;
  } else if (Take("<=")) {
    c->kind = Condition::Kind::kLe;
  } else if (Take("<")) {
    c->kind = Condition::Kind::kLt;
  } else if (Take(">=")) {
    c->kind = Condition::Kind::kLe;
    swap = true;
  } else if (Take(">")) {
    c->kind = Condition::Kind::kLt;
    swap = true;
  } else {
    return Error("expected a comparison");
  }
  WEFT_ASSIGN_OR_RETURN(c->right, ParseTerm());
  if (swap) std::swap(c->left, c->right);
  return absl::OkStatus();
}

absl::StatusOr<Term> RuleParser::ParseTerm() {
  Term term;
  if (AtNumber()) {
    WEFT_ASSIGN_OR_RETURN(term.number, Integer());
    return term;
  }
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a term"));
  if (Take("(")) return ParseTermCall(name);
  if (std::optional<DType> dtype = ParseDType(name)) {
    term.kind = Term::Kind::kDType;
    term.dtype = *dtype;
    return term;
  }
  term.number = Find(name, rule_->attr_names);
  term.kind = Term::Kind::kAttr;
  if (term.number >= 0) return term;
  term.number = Find(name, rule_->size_names);
  term.kind = Term::Kind::kSize;
  if (term.number >= 0) return term;
  return Error(absl::StrCat(name, " is no attribute or size of the pattern"));
}

absl::StatusOr<Term> RuleParser::ParseTermCall(absl::string_view name) {
  Term term;
  WEFT_ASSIGN_OR_RETURN(term.variable, Bound());
  if (name == "rank") {
    term.kind = Term::Kind::kRank;
  } else if (name == "dtype") {
    term.kind = Term::Kind::kDTypeOf;
  } else if (name == "dim") {
    term.kind = Term::Kind::kDim;
    WEFT_RETURN_IF_ERROR(Expect(","));
    WEFT_ASSIGN_OR_RETURN(term.number, Integer());
  } else {
    return Error(absl::StrCat("no function ", name, ": rank, dim, dtype"));
  }
  WEFT_RETURN_IF_ERROR(Expect(")"));
  return term;
}

}  // namespace weft
