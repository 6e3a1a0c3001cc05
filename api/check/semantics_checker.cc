#include "api/check/semantics_checker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/text/text.h"

namespace weft {
namespace {

// Larger regions, in nodes, are neither remembered nor shown.
constexpr int64_t kMaxRemembered = 4000;
constexpr int64_t kMaxShown = 12;

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
    return Annotate(status, absl::StrCat("@", graph.name()));
  }
  return absl::OkStatus();
}

absl::Status SemanticsChecker::CheckFunction(Function& function, absl::Span<const uint32_t> ids) {
  if (function.before.num_own_outputs() != function.after.num_own_outputs()) {
    return absl::FailedPreconditionError("another number of outputs");
  }
  // The whole function is compared if a write may reach from one region to another, or the number
  // of outputs changes; if inputs became constants, because the graphs agree for these values
  // alone; and if constants were dropped, because the remaining ones have other ids.
  if (function.before.num_inputs() != function.after.num_inputs() ||
      function.after.module().constants().size() < function.before.module().constants().size() ||
      function.before.module().HasWrites() || function.after.module().HasWrites() ||
      function.before.write_backs() != function.after.write_backs()) {
    if (CompareWhole(function).verdict == Verdict::kUnknown) ++stats_.unknown;
    return CheckWhole(function);
  }
  const ChangedRegions regions(function.before, function.after, ids);
  for (int i = 0; i < regions.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckRegion(function, regions, i));
  }
  return regions.refined() ? CheckWhole(function) : absl::OkStatus();
}

absl::Status SemanticsChecker::CheckWhole(Function& function) {
  const SemanticsResult& whole = CompareWhole(function);
  if (whole.verdict != Verdict::kDifferent) return absl::OkStatus();
  failed_ = ChangedRegions::Cut();
  return absl::FailedPreconditionError(whole.difference);
}

absl::Status SemanticsChecker::CheckRegion(Function& function, const ChangedRegions& regions,
                                           int region) {
  // Behind other nodes, values that show the fault may be rare.
  SemanticsOptions harder = options_;
  harder.more_runs *= 4;
  SemanticsResult result;
  ChangedRegions::Cut cut;
  for (int hops : {0, 1, 2, 4, -1}) {
    auto next = regions.CutAt(region, hops);
    // If the region cannot be cut out (only the rest of the graph defines a size), a larger region
    // or the whole function is compared.
    if (!next.ok()) continue;
    cut = *std::move(next);
    ++(hops == 0 ? stats_.regions : stats_.widened);
    result = CompareCut(cut, function.contract, hops == 0 ? options_ : harder);
    if (result.verdict == Verdict::kEqual) return absl::OkStatus();
    if (cut.complete) break;
  }
  if (result.verdict == Verdict::kDifferent && cut.complete) {
    std::string message = absl::StrCat(result.difference, Show(cut));
    failed_ = std::move(cut);
    return absl::FailedPreconditionError(std::move(message));
  }
  // No region up to the inputs could be cut out or run.
  const SemanticsResult& whole = CompareWhole(function);
  if (whole.verdict != Verdict::kDifferent) {
    if (whole.verdict == Verdict::kUnknown) ++stats_.unknown;
    return absl::OkStatus();
  }
  failed_ = ChangedRegions::Cut();
  return absl::FailedPreconditionError(whole.difference);
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
                                             NumericContract contract,
                                             const SemanticsOptions& options) {
  std::string key;
  if (cut.before->num_nodes() + cut.after->num_nodes() <= kMaxRemembered) {
    key = TextKey(*cut.before);
    std::string after = TextKey(*cut.after);
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
  // Inputs are drawn for the narrower types, which the pass may have proven elsewhere.
  SemanticsResult result =
      CompareGraphs(*cut.before->main(), *cut.after->main(), *cut.after->main(), contract, options);
  stats_.runs += result.compared;
  if (!key.empty()) remembered_.emplace(std::move(key), result);
  return result;
}

}  // namespace weft
