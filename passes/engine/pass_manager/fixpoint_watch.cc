#include "passes/engine/pass_manager/fixpoint_watch.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/engine/pass_manager/fingerprint.h"

namespace weft {

int FixpointWatch::EndRound(int round, const Module& module) {
  if (round <= kQuietRounds) return 0;
  auto [it, is_new] = rounds_.emplace(Fingerprint(module).value(), round);
  return is_new ? 0 : round - it->second;
}

void CycleTrace::Add(const PassReport& pass, const Module& before, const Module& after) {
  firing_.push_back(FiringText(pass));
  lines_.push_back(absl::StrCat(pass.path, ":"));
  for (std::string& line : DescribeDifference(before, after)) {
    lines_.push_back("  " + std::move(line));
  }
}

std::string CycleTrace::Firing() const { return absl::StrJoin(firing_, ", "); }

std::string FiringText(const PassReport& pass) {
  std::vector<std::string> rules, counters;
  for (const auto& [name, n] : pass.counters) {
    const bool is_rule = absl::StartsWith(name, "rule.") || absl::StartsWith(name, "fold.");
    (is_rule ? rules : counters).push_back(absl::StrCat(name, "=", n));
  }
  return absl::StrCat(pass.pass, "(", absl::StrJoin(rules.empty() ? counters : rules, ", "), ")");
}

}  // namespace weft
