#include "api/inspect/remark_yaml.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/quote.h"
#include "passes/engine/remarks/json.h"

namespace weft {
namespace {

absl::string_view TagOf(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kPassed:
      return "Passed";
    case RemarkKind::kAnalysis:
      return "Analysis";
    case RemarkKind::kFailed:
      return "Failure";
    case RemarkKind::kMissed:
    case RemarkKind::kNearMiss:
    case RemarkKind::kBudget:
      return "Missed";
  }
  return "";
}

// Adds parts of a message, which readers join. The strings of JSON are strings of YAML.
class Message {
 public:
  explicit Message(std::string* out) : out_(out) {}
  void Add(absl::string_view key, absl::string_view value) {
    absl::StrAppend(out_, "\n  - ", JsonString(key), ": ", JsonString(value));
  }
  void Add(absl::string_view text) { Add("String", text); }

 private:
  std::string* const out_;
};

}  // namespace

std::string RemarkToYaml(const Remark& remark) {
  const std::string& name = !remark.rule.empty() ? remark.rule
                            : !remark.op.empty() ? remark.op
                                                 : remark.pass;
  std::string out =
      absl::StrCat("--- !", TagOf(remark.kind), "\nPass: ", JsonString(remark.pass),
                   "\nName: ", JsonString(name),
                   "\nDebugLoc: { File: ", JsonString(absl::StrCat("@", remark.function)),
                   ", Line: ", std::max<int64_t>(remark.node, 0),
                   ", Column: 0 }\nFunction: ", JsonString(remark.function), "\nArgs:");
  Message message(&out);
  if (remark.kind == RemarkKind::kNearMiss || remark.kind == RemarkKind::kBudget) {
    message.Add("Kind", RemarkKindName(remark.kind));
    message.Add(": ");
  }
  if (!remark.op.empty()) message.Add("Op", remark.op);
  if (!remark.provenance.empty()) {
    const auto quoted = [](std::string* text, const std::string& s) { *text += Quote(s); };
    message.Add(absl::StrCat(" (from ", absl::StrJoin(remark.provenance, ", ", quoted), ")"));
  }
  message.Add(absl::StrCat(remark.op.empty() ? "" : ": ", remark.reason));
  for (const auto& [key, value] : remark.args) {
    message.Add(absl::StrCat(", ", key, "="));
    message.Add(key, value);
  }
  if (!remark.related.empty()) {
    message.Add(absl::StrCat(", related=%", absl::StrJoin(remark.related, " %")));
  }
  if (!remark.suggestion.empty()) message.Add(absl::StrCat("; ", remark.suggestion));
  for (const std::string& line : remark.details) message.Add(absl::StrCat("\n    ", line));
  return out + "\n...";
}

}  // namespace weft
