#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "passes/engine/registry.h"
#include "passes/engine/rules/parser.h"

namespace weft {

absl::StatusOr<RuleFile> RuleParser::Run() {
  while (!AtEnd()) {
    if (Peek("op")) {
      WEFT_RETURN_IF_ERROR(ParseOwnOp());
      continue;
    }
    std::vector<std::unique_ptr<FileRule>>& rules = contents_.rules;
    rules.push_back(std::make_unique<FileRule>());
    rule_ = rules.back().get();
    WEFT_RETURN_IF_ERROR(ParseRule());
    for (size_t i = 0; i + 1 < rules.size(); ++i) {
      if (rules[i]->name == rule_->name) {
        return Error(absl::StrCat("a second rule ", rule_->name, "; see ", rules[i]->where));
      }
    }
  }
  return std::move(contents_);
}

int RuleParser::IndexOf(absl::string_view name, std::vector<std::string>* names) {
  auto it = std::find(names->begin(), names->end(), name);
  if (it == names->end()) it = names->insert(it, std::string(name));
  return static_cast<int>(it - names->begin());
}

int RuleParser::Find(absl::string_view name, const std::vector<std::string>& names) {
  auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

absl::StatusOr<int> RuleParser::Bound() {
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a variable"));
  const int i = Find(name, rule_->variables);
  if (i < 0) return Error(absl::StrCat(name, " is not bound by the pattern"));
  return i;
}

absl::Status RuleParser::CheckVariables() const {
  if (rule_->variables.size() <= Pattern::kNumVariables) {
    return absl::OkStatus();
  }
  return Error(
      absl::StrCat("more than ", Pattern::kNumVariables, " variables and ops with attributes"));
}

absl::Status RuleParser::ParseRule() {
  const size_t begin = Mark();
  if (!Take("rule")) return Error("expected 'rule' or 'op'");
  rule_->where = Where();
  WEFT_ASSIGN_OR_RETURN(rule_->name, Kebab("the rule's name"));
  WEFT_RETURN_IF_ERROR(ParseContract());
  if (Peek("\"")) {
    WEFT_ASSIGN_OR_RETURN(rule_->identity, String());
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
  rule_->source = std::string(Since(begin));
  if (rule_->identity.empty()) rule_->identity = rule_->source;
  return absl::OkStatus();
}

absl::Status RuleParser::ParseContract() {
  WEFT_ASSIGN_OR_RETURN(const std::string name, Kebab("a numeric contract"));
  if (const auto contract = ParseNumericContract(name)) {
    rule_->contract = *contract;
    return absl::OkStatus();
  }
  return Error(absl::StrCat(name,
                            " is not a contract: bit-exact, value-safe, "
                            "reassociating, approximate"));
}

absl::Status RuleParser::ParseTypes() {
  while (true) {
    const size_t begin = Mark();
    const absl::string_view name = TakeName();
    if (name.empty() || !Take(":")) {
      Rewind(begin);
      return absl::OkStatus();
    }
    TypePattern type;
    type.variable = IndexOf(name, &rule_->variables);
    WEFT_RETURN_IF_ERROR(ParseClass(&type));
    rule_->types.push_back(std::move(type));
    Take(",");
  }
}

absl::Status RuleParser::ParseClass(TypePattern* type) {
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

absl::Status RuleParser::CheckTypes() const {
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

absl::StatusOr<const OpDef*> RuleParser::Op(absl::string_view name) const {
  const OpDef* op = registry_.Find(name);
  if (op == nullptr) {
    std::vector<std::string> names;
    for (const OpDef* known : registry_.All()) names.emplace_back(known->name());
    return Error(absl::StrCat("no op ", name, DidYouMean(name, names)));
  }
  if (op->schema().results.size() != 1 || !op->schema().regions.empty() || !op->is_mergeable()) {
    return Error(absl::StrCat(name, ": rules are about pure ops with one result and no graphs"));
  }
  return op;
}

absl::StatusOr<RuleFile> ParseRuleFile(absl::string_view text, absl::string_view file,
                                       const OpRegistry& registry) {
  return RuleParser(text, file, registry).Run();
}

}  // namespace weft
