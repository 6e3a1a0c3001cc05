#include "api/semantics_checker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/core/status_macros.h"
#include "graph/core/text.h"

namespace weft {
namespace {

// Regions past this many nodes are neither remembered nor shown.
constexpr int64_t kMaxRemembered = 4000;
constexpr int64_t kMaxShown = 12;

// Equal for modules that compute the same in the same way.
std::string KeyOf(const Module& module) {
  PrintOptions options;
  options.locations = false;
  options.constants = false;
  std::string key = PrintModule(module, options);
  for (int i = 0; i < module.constants().size(); ++i) {
    absl::StrAppend(&key, module.constants().tensor(i).Fingerprint(), " ");
  }
  return key;
}

std::string Show(const ChangedRegions::Cut& cut) {
  if (cut.before->num_nodes() + cut.after->num_nodes() > kMaxShown) return "";
  PrintOptions options;
  options.constants = false;
  return absl::StrCat("\nbefore:\n", PrintModule(*cut.before, options), "after:\n",
                      PrintModule(*cut.after, options));
}

}  // namespace

std::string SemanticsStats::ToString() const {
  std::string text = absl::StrCat(regions, " changed regions, ", runs,
                                  " runs before and after agree, ", remembered, " remembered");
  if (whole > 0) absl::StrAppend(&text, ", ", whole, " of whole functions");
  if (excused > 0) {
    absl::StrAppend(&text, ", ", excused, " regions differ but not in place");
  }
  if (unknown > 0) absl::StrAppend(&text, ", ", unknown, " could not be run");
  return text;
}

ModuleNodeIds NodeIdsOf(const Module& module) {
  ModuleNodeIds ids;
  for (const auto& function : module.functions()) {
    ids.push_back(NodeIdsOf(*function));
  }
  return ids;
}

absl::Status SemanticsChecker::Check(const Module& before, const Module& after,
                                     NumericContract contract, const ModuleNodeIds& ids) {
  for (size_t i = 0; i < before.functions().size(); ++i) {
    const Graph& graph = *before.functions()[i];
    const Graph* other = after.FindFunction(graph.name());
    if (other == nullptr) continue;
    Function function{graph, *other, contract, false, {}};
    absl::Span<const uint32_t> known;
    if (i < ids.size()) known = ids[i];
    absl::Status status = CheckFunction(function, known);
    if (status.ok()) continue;
    return absl::Status(status.code(), absl::StrCat("@", graph.name(), ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status SemanticsChecker::CheckFunction(Function& function, absl::Span<const uint32_t> ids) {
  if (function.before.num_outputs() != function.after.num_outputs()) {
    return absl::FailedPreconditionError("another number of outputs");
  }
  const ChangedRegions regions(function.before, function.after, ids);
  for (int i = 0; i < regions.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckRegion(function, regions, i));
  }
  if (!regions.refined()) return absl::OkStatus();
  const SemanticsResult& whole = CompareWhole(function);
  if (whole.verdict != Verdict::kDifferent) return absl::OkStatus();
  failed_ = ChangedRegions::Cut();
  return absl::FailedPreconditionError(whole.difference);
}

absl::Status SemanticsChecker::CheckRegion(Function& function, const ChangedRegions& regions,
                                           int region) {
  SemanticsResult result;
  ChangedRegions::Cut cut;
  for (int hops : {0, 1, 2, 4, -1}) {
    auto next = regions.CutAt(region, hops);
    // What cannot be cut (a size that only the rest of the graph gives) is
    // compared in a larger region or in place.
    if (!next.ok()) continue;
    cut = *std::move(next);
    ++(hops == 0 ? stats_.regions : stats_.widened);
    result = CompareCut(cut, function.contract);
    if (result.verdict == Verdict::kEqual) return absl::OkStatus();
    if (cut.complete) break;
  }
  const SemanticsResult& whole = CompareWhole(function);
  const bool differs = result.verdict == Verdict::kDifferent;
  if (whole.verdict == Verdict::kEqual ||
      (whole.verdict == Verdict::kUnknown && !(differs && cut.complete))) {
    ++(differs ? stats_.excused : stats_.unknown);
    return absl::OkStatus();
  }
  std::string message = differs ? absl::StrCat(result.difference, Show(cut)) : whole.difference;
  failed_ = differs ? std::move(cut) : ChangedRegions::Cut();
  return absl::FailedPreconditionError(std::move(message));
}

const SemanticsResult& SemanticsChecker::CompareWhole(Function& function) {
  if (function.compared) return function.whole;
  function.compared = true;
  ++stats_.whole;
  function.whole =
      CompareGraphs(function.before, function.after, function.before, function.contract, options_);
  stats_.runs += function.whole.compared;
  return function.whole;
}

SemanticsResult SemanticsChecker::CompareCut(const ChangedRegions::Cut& cut,
                                             NumericContract contract) {
  std::string key;
  if (cut.before->num_nodes() + cut.after->num_nodes() <= kMaxRemembered) {
    key = KeyOf(*cut.before);
    std::string after = KeyOf(*cut.after);
    if (key == after) {
      SemanticsResult equal;
      equal.verdict = Verdict::kEqual;
      return equal;
    }
    absl::StrAppend(&key, after, NumericContractName(contract));
    auto it = remembered_.find(key);
    if (it != remembered_.end()) {
      ++stats_.remembered;
      return it->second;
    }
  }
  // Drawn for the narrower types, which the pass may have learnt elsewhere.
  SemanticsResult result = CompareGraphs(*cut.before->main(), *cut.after->main(),
                                         *cut.after->main(), contract, options_);
  stats_.runs += result.compared;
  if (!key.empty()) remembered_.emplace(std::move(key), result);
  return result;
}

}  // namespace weft
