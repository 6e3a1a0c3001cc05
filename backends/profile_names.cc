#include "backends/profile_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/module.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

constexpr size_t kMaxNames = 16;
// Steps of a history that are looked at.
constexpr size_t kMaxSteps = 64;

}  // namespace

std::vector<std::string> ProfileSources(const Module& module, ProvenanceId id) {
  return module.provenance().Names(id, kMaxNames);
}

std::vector<std::string> ProfileRules(const Module& module, OriginId id) {
  std::vector<std::string> rules;
  for (const OriginTable::Step& step : module.origins().History(id, kMaxSteps)) {
    std::string rule(step.pass);
    if (!step.rule.empty()) absl::StrAppend(&rule, rule.empty() ? "" : ".", step.rule);
    if (rule.empty() || std::count(rules.begin(), rules.end(), rule) > 0) continue;
    rules.push_back(std::move(rule));
    if (rules.size() == kMaxNames) break;
  }
  return rules;
}

}  // namespace weft
