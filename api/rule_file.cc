#include "api/rule_file.h"

#include "base/status_macros.h"
#include "base/text_file.h"
#include "graph/ops/registry.h"

namespace weft {

absl::StatusOr<std::unique_ptr<RuleSet>> LoadRuleFile(const std::string& path,
                                                      const OpRegistry& ops) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return LoadRules(text, path, ops);
}

absl::StatusOr<std::unique_ptr<RuleSet>> LoadRuleFile(const std::string& path) {
  return LoadRuleFile(path, ops::Registry());
}

}  // namespace weft
