#include "tools/opt_remarks.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/inspect/remark_numbers.h"
#include "api/inspect/remark_yaml.h"
#include "tools/common/cli.h"

namespace weft::tools {
namespace {

// True if a word of the expression is a kind of remark or a pass: then no match is no mistake.
bool NamesRemarks(const std::string& regex) {
  if (regex.empty() || regex == ".*") return true;
  std::vector<std::string> names = BuiltinPasses().PassNames();
  for (const RemarkKind kind : {RemarkKind::kPassed, RemarkKind::kMissed, RemarkKind::kAnalysis,
                                RemarkKind::kNearMiss, RemarkKind::kBudget, RemarkKind::kFailed}) {
    names.emplace_back(RemarkKindName(kind));
  }
  for (const absl::string_view word : absl::StrSplit(regex, absl::ByAnyChar(":.*+?()[]|^$\\{}"))) {
    if (std::find(names.begin(), names.end(), word) != names.end()) return true;
  }
  return false;
}

}  // namespace

void DropUnasked(std::vector<Remark>* remarks) {
  remarks->erase(std::remove_if(remarks->begin(), remarks->end(),
                                [](const Remark& remark) {
                                  return remark.kind != RemarkKind::kFailed &&
                                         remark.kind != RemarkKind::kBudget;
                                }),
                 remarks->end());
}

absl::Status WriteRemarks(const OptOptions& o, std::vector<Remark> remarks, std::ostream& info) {
  std::set<std::string> categories;
  for (const Remark& remark : remarks) categories.insert(remark.Category());
  // Near misses that are listed separately are not listed twice.
  const bool both = !o.remarks.empty() && !o.near_misses.empty();
  auto wanted =
      FilterRemarks(std::move(remarks), both ? absl::StrCat(o.remarks, "|^near-miss:") : o.remarks);
  if (!wanted.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--remarks: ", wanted.status().message()));
  }
  if (wanted->empty() && !NamesRemarks(o.remarks)) {
    PrintMessage("opt",
                 absl::StrCat("--remarks=", o.remarks, " names no kind of remark and no pass; ",
                              categories.empty() ? "there are no remarks"
                                                 : "there are remarks of these kinds\n",
                              absl::StrJoin(categories, "\n")));
  }
  SortNearMisses(&*wanted);
  std::string text;
  for (const Remark& remark : *wanted) {
    absl::StrAppend(&text,
                    o.remarks_format == "json"   ? remark.ToJson()
                    : o.remarks_format == "yaml" ? RemarkToYaml(remark)
                                                 : remark.ToString(),
                    "\n");
  }
  if (!o.remarks_output.empty()) return WriteOutput(o.remarks_output, text);
  info << text;
  return absl::OkStatus();
}

}  // namespace weft::tools
