#include "passes/engine/rules/rule_set.h"

#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "passes/engine/rules/file_rule.h"
#include "passes/engine/rules/rule_text.h"

namespace weft {

RuleSet::RuleSet() = default;
RuleSet::~RuleSet() = default;

absl::Status RuleSet::Append(std::unique_ptr<RuleSet> other) {
  absl::flat_hash_set<absl::string_view> names;
  for (const Rule& rule : rules_) names.insert(rule.name);
  for (const Rule& rule : other->rules_) {
    if (names.contains(rule.name)) {
      return absl::AlreadyExistsError(
          absl::StrCat("there is a rule called ", rule.name, " already"));
    }
  }
  std::move(other->owned_ops_.begin(), other->owned_ops_.end(), std::back_inserter(owned_ops_));
  std::move(other->ops_.begin(), other->ops_.end(), std::back_inserter(ops_));
  std::move(other->files_.begin(), other->files_.end(), std::back_inserter(files_));
  std::move(other->rules_.begin(), other->rules_.end(), std::back_inserter(rules_));
  std::move(other->standings_.begin(), other->standings_.end(), std::back_inserter(standings_));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RuleSet>> LoadRules(absl::string_view text, absl::string_view file,
                                                   const OpRegistry& registry, uint64_t seed) {
  auto set = std::make_unique<RuleSet>();
  WEFT_ASSIGN_OR_RETURN(RuleFile contents, ParseRuleFile(text, file, registry));
  OpRegistry with_ops = registry;
  for (RuleFile::OwnOp& own : contents.ops) {
    with_ops.Register(own.op.get());
    set->ops_.push_back({own.op.get(), std::move(own.onnx)});
    set->owned_ops_.push_back(std::move(own.op));
  }
  set->files_ = std::move(contents.rules);
  for (const auto& file_rule : set->files_) {
    set->rules_.push_back(file_rule->ToRule());
    WEFT_ASSIGN_OR_RETURN(const int instances,
                          CheckFileRule(*file_rule, set->rules_.back(), with_ops, seed));
    set->standings_.push_back({instances});
  }
  return set;
}

}  // namespace weft
