#include "passes/rules/rule_set.h"

#include "graph/core/status_macros.h"
#include "passes/rules/file_rule.h"

namespace weft {

RuleSet::RuleSet() = default;
RuleSet::~RuleSet() = default;

absl::StatusOr<std::unique_ptr<RuleSet>> LoadRules(absl::string_view text, absl::string_view file,
                                                   const OpRegistry& registry, uint64_t seed) {
  auto set = std::make_unique<RuleSet>();
  WEFT_ASSIGN_OR_RETURN(set->files_, ParseFileRules(text, file, registry));
  for (const auto& file_rule : set->files_) {
    set->rules_.push_back(file_rule->ToRule());
    WEFT_ASSIGN_OR_RETURN(const int instances,
                          CheckFileRule(*file_rule, set->rules_.back(), registry, seed));
    set->standings_.push_back({instances});
  }
  return set;
}

}  // namespace weft
