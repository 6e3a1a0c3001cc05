// The parser of rule files: recursive descent over patterns of at most
// Pattern::kMaxNodes nodes.
#include <algorithm>
#include <cctype>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/core/status_macros.h"
#include "passes/rules/file_rule.h"

namespace weft {
namespace {

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNumberChar(char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }

class Parser {
 public:
  Parser(absl::string_view text, absl::string_view file, const OpRegistry& registry)
      : text_(text), file_(file), registry_(registry) {}

  absl::StatusOr<std::vector<std::unique_ptr<FileRule>>> Run() {
    std::vector<std::unique_ptr<FileRule>> rules;
    for (Skip(); at_ < text_.size(); Skip()) {
      rules.push_back(std::make_unique<FileRule>());
      rule_ = rules.back().get();
      WEFT_RETURN_IF_ERROR(ParseRule());
      for (size_t i = 0; i + 1 < rules.size(); ++i) {
        if (rules[i]->name == rule_->name) {
          return Error(absl::StrCat("a second rule ", rule_->name, "; see ", rules[i]->where));
        }
      }
    }
    return rules;
  }

 private:
  // --- Characters -----------------------------------------------------------

  std::pair<size_t, size_t> Place(size_t at) const {
    const absl::string_view before = text_.substr(0, at);
    const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n');
    return {line, start == before.npos ? at + 1 : at - start};
  }
  absl::Status Error(absl::string_view message) const {
    const auto [line, column] = Place(at_);
    return absl::InvalidArgumentError(absl::StrCat(file_, ":", line, ":", column, ": ", message));
  }
  void Skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool Peek(absl::string_view token) {
    Skip();
    if (text_.substr(at_, token.size()) != token) return false;
    return !IsNameChar(token.back()) || at_ + token.size() >= text_.size() ||
           !IsNameChar(text_[at_ + token.size()]);
  }
  bool Take(absl::string_view token) {
    if (!Peek(token)) return false;
    at_ += token.size();
    return true;
  }
  absl::Status Expect(absl::string_view token) {
    if (Take(token)) return absl::OkStatus();
    return Error(absl::StrCat("expected '", token, "'"));
  }
  // Empty when there is none.
  absl::string_view TakeName() {
    Skip();
    size_t end = at_;
    if (end < text_.size() && IsNameStart(text_[end])) {
      while (end < text_.size() && IsNameChar(text_[end])) ++end;
    }
    const absl::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    return name;
  }
  absl::StatusOr<absl::string_view> Name(absl::string_view what) {
    const absl::string_view name = TakeName();
    if (name.empty()) return Error(absl::StrCat("expected ", what));
    return name;
  }
  bool AtNumber() {
    Skip();
    const size_t first = at_ + (at_ < text_.size() && text_[at_] == '-');
    return first < text_.size() && IsNumberChar(text_[first]);
  }
  absl::StatusOr<absl::string_view> Number() {
    Skip();
    size_t end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    while (end < text_.size() &&
           (IsNumberChar(text_[end]) || text_[end] == 'e' ||
            ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e'))) {
      ++end;
    }
    double ignored;
    const absl::string_view number = text_.substr(at_, end - at_);
    if (!absl::SimpleAtod(number, &ignored)) return Error("expected a number");
    at_ = end;
    return number;
  }
  absl::StatusOr<int64_t> Integer() {
    const size_t begin = at_;
    WEFT_ASSIGN_OR_RETURN(const absl::string_view number, Number());
    int64_t value;
    if (absl::SimpleAtoi(number, &value)) return value;
    at_ = begin;
    return Error("expected an integer");
  }
  absl::StatusOr<std::string> String() {
    WEFT_RETURN_IF_ERROR(Expect("\""));
    const size_t end = text_.find('"', at_);
    if (end == text_.npos) return Error("the string has no end");
    std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }

  // --- Names ----------------------------------------------------------------

  // The index of `name` in `names`, which may grow.
  static int IndexOf(absl::string_view name, std::vector<std::string>* names) {
    auto it = std::find(names->begin(), names->end(), name);
    if (it == names->end()) it = names->insert(it, std::string(name));
    return static_cast<int>(it - names->begin());
  }
  static int Find(absl::string_view name, const std::vector<std::string>& names) {
    auto it = std::find(names.begin(), names.end(), name);
    return it == names.end() ? -1 : static_cast<int>(it - names.begin());
  }
  // A variable that the pattern has bound.
  absl::StatusOr<int> Bound() {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a variable"));
    const int i = Find(name, rule_->variables);
    if (i < 0) return Error(absl::StrCat(name, " is not bound by the pattern"));
    return i;
  }
  absl::Status CheckVariables() const {
    if (rule_->variables.size() <= Pattern::kNumVariables) {
      return absl::OkStatus();
    }
    return Error(
        absl::StrCat("more than ", Pattern::kNumVariables, " variables and ops with attributes"));
  }

  // --- Rules ----------------------------------------------------------------

  absl::Status ParseRule() {
    WEFT_RETURN_IF_ERROR(Expect("rule"));
    Skip();
    const size_t begin = at_;
    rule_->where = absl::StrCat(file_, ":", Place(at_).first);
    WEFT_ASSIGN_OR_RETURN(rule_->name, Kebab("the rule's name"));
    WEFT_RETURN_IF_ERROR(ParseContract());
    if (Peek("\"")) {
      WEFT_ASSIGN_OR_RETURN(rule_->identity, String());
      rule_->identity += "  ";
    }
    WEFT_RETURN_IF_ERROR(Expect("{"));
    WEFT_RETURN_IF_ERROR(ParseTypes());
    WEFT_ASSIGN_OR_RETURN(rule_->pattern, ParsePattern(1));
    if (rule_->pattern.root().kind != PatternNode::Kind::kOp) {
      return Error("the pattern must be an op");
    }
    WEFT_RETURN_IF_ERROR(CheckTypes());
    WEFT_RETURN_IF_ERROR(Expect("=>"));
    WEFT_RETURN_IF_ERROR(ParseValue());
    if (Take("where")) WEFT_RETURN_IF_ERROR(ParseConditions());
    WEFT_RETURN_IF_ERROR(Expect("}"));
    absl::StrAppend(&rule_->identity, text_.substr(begin, at_ - begin));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Kebab(absl::string_view what) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view first, Name(what));
    std::string name(first);
    while (at_ + 1 < text_.size() && text_[at_] == '-' && IsNameChar(text_[at_ + 1])) {
      ++at_;
      const size_t begin = at_;
      while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
      absl::StrAppend(&name, "-", text_.substr(begin, at_ - begin));
    }
    return name;
  }

  absl::Status ParseContract() {
    WEFT_ASSIGN_OR_RETURN(const std::string name, Kebab("a numeric contract"));
    for (NumericContract c : {NumericContract::kBitExact, NumericContract::kValueSafe,
                              NumericContract::kReassociating, NumericContract::kApproximate}) {
      if (NumericContractName(c) != name) continue;
      rule_->contract = c;
      return absl::OkStatus();
    }
    return Error(absl::StrCat(name,
                              " is not a contract: bit-exact, value-safe, "
                              "reassociating, approximate"));
  }

  // `NAME : CLASS [dims], ...` as often as it stands there.
  absl::Status ParseTypes() {
    while (true) {
      const size_t begin = at_;
      const absl::string_view name = TakeName();
      if (name.empty() || !Take(":")) {
        at_ = begin;
        return absl::OkStatus();
      }
      TypePattern type;
      type.variable = IndexOf(name, &rule_->variables);
      WEFT_RETURN_IF_ERROR(ParseClass(&type));
      rule_->types.push_back(std::move(type));
      Take(",");
    }
  }
  absl::Status ParseClass(TypePattern* type) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a dtype"));
    type->dtypes = std::string(name);
    const bool known = name == "any" || name == "number" || name == "float" || name == "int" ||
                       ParseDType(name).has_value();
    if (!known) return Error(absl::StrCat("no dtype or class ", name));
    if (!Take("[")) return absl::OkStatus();
    type->any_rank = Take("..");
    Take(",");
    while (!Take("]")) {
      if (AtNumber()) {
        WEFT_ASSIGN_OR_RETURN(const int64_t size, Integer());
        if (size < 0) return Error("a size is not negative");
        type->dims.push_back(size);
      } else {
        WEFT_ASSIGN_OR_RETURN(const absl::string_view dim, Name("a size"));
        type->dims.push_back(-1 - IndexOf(dim, &rule_->size_names));
      }
      if (!Take(",") && !Peek("]")) return Error("expected ',' or ']'");
    }
    return absl::OkStatus();
  }
  absl::Status CheckTypes() const {
    for (const TypePattern& type : rule_->types) {
      bool bound = false;
      for (int i = 0; i < rule_->pattern.size(); ++i) {
        bound |= rule_->pattern.node(i).variable == type.variable;
      }
      if (bound) continue;
      return Error(
          absl::StrCat(rule_->variables[type.variable], " has a type and is not in the pattern"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<const OpDef*> Op(absl::string_view name) const {
    const OpDef* op = registry_.Find(name);
    if (op == nullptr) return Error(absl::StrCat("no op ", name));
    if (op->schema().results.size() != 1 || !op->schema().regions.empty() || !op->is_mergeable()) {
      return Error(absl::StrCat(name, ": rules are about pure ops with one result and no graphs"));
    }
    return op;
  }

  // --- Left sides -----------------------------------------------------------

  // `room` is what the nodes around this one have used.
  absl::StatusOr<Pattern> ParsePattern(int used) {
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
  absl::StatusOr<Pattern> Variable(absl::string_view name) {
    const int i = IndexOf(name, &rule_->variables);
    WEFT_RETURN_IF_ERROR(CheckVariables());
    return pattern::Variable(i);
  }

  absl::StatusOr<Pattern> ParseOp(const OpDef& op, int used) {
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
  absl::Status CheckOperands(const OpDef& op, int n) const {
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

  // --- Attributes -----------------------------------------------------------

  // The NAME of `NAME =`; empty, and nothing taken, for anything else.
  absl::string_view TakeAttrName() {
    const size_t begin = at_;
    const absl::string_view name = TakeName();
    if (!name.empty() && !Peek("=>") && !Peek("==") && Take("=")) return name;
    at_ = begin;
    return "";
  }
  absl::StatusOr<int> AttrIndex(const OpDef& op, absl::string_view name) const {
    const int i = op.schema().FindAttr(name);
    if (i >= 0) return i;
    return Error(absl::StrCat(op.name(), " has no attribute ", name));
  }
  absl::StatusOr<int> BoundAttr() {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("an attribute"));
    const int i = Find(name, rule_->attr_names);
    if (i < 0) return Error(absl::StrCat(name, " is not bound by the pattern"));
    return i;
  }
  absl::StatusOr<AttrTerm> ParseAttr(bool binds) {
    AttrTerm term;
    Skip();
    if (at_ < text_.size() && !IsNameStart(text_[at_])) {
      WEFT_ASSIGN_OR_RETURN(term.literal, Literal());
      return term;
    }
    const absl::string_view name = TakeName();
    if (name == "true" || name == "false") {
      term.literal = AttrValue(name == "true");
      return term;
    }
    if (std::optional<DType> dtype = ParseDType(name)) {
      term.literal = AttrValue(*dtype);
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
  absl::StatusOr<AttrTerm> ParseCall(absl::string_view name) {
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
  absl::StatusOr<AttrValue> Literal() {
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

  // --- Right sides ----------------------------------------------------------

  absl::Status ParseValue() {
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
    const size_t begin = at_;
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a value"));
    if (!Take("(")) {
      at_ = begin;
      WEFT_ASSIGN_OR_RETURN(rule_->value[place].variable, Bound());
      return absl::OkStatus();
    }
    WEFT_ASSIGN_OR_RETURN(rule_->value[place].op, Op(name));
    return ParseOperands(place);
  }
  absl::Status ParseOperands(size_t place) {
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

  // --- Conditions -----------------------------------------------------------

  absl::Status ParseConditions() {
    constexpr size_t kMax = Guards::kMax - 2;
    do {
      if (rule_->conditions.size() == kMax) {
        return Error(absl::StrCat("more than ", kMax, " conditions"));
      }
      Skip();
      const size_t begin = at_;
      Condition c;
      WEFT_RETURN_IF_ERROR(ParseCondition(&c));
      c.text = std::string(text_.substr(begin, at_ - begin));
      rule_->conditions.push_back(std::move(c));
    } while (Take(","));
    return absl::OkStatus();
  }
  absl::Status ParseCondition(Condition* c) {
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
  absl::StatusOr<Term> ParseTerm() {
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
  absl::StatusOr<Term> ParseTermCall(absl::string_view name) {
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

  const absl::string_view text_;
  const absl::string_view file_;
  const OpRegistry& registry_;
  size_t at_ = 0;
  FileRule* rule_ = nullptr;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<FileRule>>> ParseFileRules(absl::string_view text,
                                                                      absl::string_view file,
                                                                      const OpRegistry& registry) {
  return Parser(text, file, registry).Run();
}

}  // namespace weft
