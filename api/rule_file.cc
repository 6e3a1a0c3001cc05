#include "api/rule_file.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "graph/ops/registry.h"

namespace weft {

absl::StatusOr<std::unique_ptr<RuleSet>> LoadRuleFile(const std::string& path,
                                                      const OpRegistry& ops) {
  constexpr std::streamoff kMaxBytes = std::streamoff{1} << 24;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  if (file.tellg() > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a file of rules has at most 16 MiB"));
  }
  file.seekg(0);
  std::stringstream text;
  text << file.rdbuf();
  return LoadRules(text.str(), path, ops);
}

absl::StatusOr<std::unique_ptr<RuleSet>> LoadRuleFile(const std::string& path) {
  return LoadRuleFile(path, ops::Registry());
}

}  // namespace weft
