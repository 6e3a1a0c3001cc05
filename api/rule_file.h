// Rewrite rules from a file.
#ifndef WEFT_API_RULE_FILE_H_
#define WEFT_API_RULE_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "passes/engine/rules/rule_set.h"

namespace weft {

class OpRegistry;

// Reads and checks the rules of `path` (LoadRules) over `ops`. Errors: NotFound for a file that
// cannot be read, InvalidArgument for one that is too large, and those of LoadRules.
absl::StatusOr<std::unique_ptr<RuleSet>> LoadRuleFile(const std::string& path,
                                                      const OpRegistry& ops);
// The same over the built-in ops.
absl::StatusOr<std::unique_ptr<RuleSet>> LoadRuleFile(const std::string& path);

}  // namespace weft

#endif  // WEFT_API_RULE_FILE_H_
