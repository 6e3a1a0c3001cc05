#include "passes/engine/remarks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "passes/engine/remarks/json.h"
#include "passes/engine/remarks/name_filter.h"

namespace weft {
namespace {

std::string JsonList(const std::vector<std::string>& texts) {
  return absl::StrCat(
      "[",
      absl::StrJoin(texts, ", ",
                    [](std::string* out, const std::string& s) { *out += JsonString(s); }),
      "]");
}

// Appends a name of the model, quoted as in the text form.
void AppendQuoted(std::string* text, const std::string& name) { *text += Quote(name); }

}  // namespace

absl::string_view RemarkKindName(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kPassed:
      return "passed";
    case RemarkKind::kMissed:
      return "missed";
    case RemarkKind::kAnalysis:
      return "analysis";
    case RemarkKind::kNearMiss:
      return "near-miss";
    case RemarkKind::kBudget:
      return "budget";
    case RemarkKind::kFailed:
      return "failed";
  }
  return "";
}

std::string Remark::ToString() const {
  std::string text = absl::StrCat(RemarkKindName(kind), " ", pass);
  if (!rule.empty()) absl::StrAppend(&text, ".", rule);
  if (!function.empty()) absl::StrAppend(&text, " @", function);
  if (!op.empty()) absl::StrAppend(&text, node >= 0 ? absl::StrCat(" %", node, " =") : "", " ", op);
  if (!provenance.empty()) {
    absl::StrAppend(&text, " (from ", absl::StrJoin(provenance, ", ", AppendQuoted), ")");
  }
  absl::StrAppend(&text, ": ", reason);
  for (const auto& [name, value] : args) {
    absl::StrAppend(&text, ", ", name, "=", value);
  }
  if (!related.empty()) absl::StrAppend(&text, ", related=%", absl::StrJoin(related, " %"));
  if (!suggestion.empty()) absl::StrAppend(&text, "; ", suggestion);
  for (const std::string& line : details) absl::StrAppend(&text, "\n    ", line);
  return text;
}

std::string Remark::ToJson() const {
  std::string out = absl::StrCat("{\"kind\": ", JsonString(RemarkKindName(kind)),
                                 ", \"pass\": ", JsonString(pass));
  const auto add = [&out](absl::string_view key, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&out, ", \"", key, "\": ", JsonString(value));
  };
  add("rule", rule);
  add("contract", contract);
  add("function", function);
  add("op", op);
  if (node >= 0) absl::StrAppend(&out, ", \"node\": ", node);
  if (!provenance.empty()) absl::StrAppend(&out, ", \"provenance\": ", JsonList(provenance));
  add("reason", reason);
  if (!args.empty()) {
    const auto member = [](std::string* text, const std::pair<std::string, std::string>& arg) {
      absl::StrAppend(text, JsonString(arg.first), ": ", JsonString(arg.second));
    };
    absl::StrAppend(&out, ", \"args\": {", absl::StrJoin(args, ", ", member), "}");
  }
  if (!related.empty()) {
    absl::StrAppend(&out, ", \"related\": [", absl::StrJoin(related, ", "), "]");
  }
  add("suggestion", suggestion);
  absl::StrAppend(&out, ", \"step\": ", step, ", \"work\": ", work);
  if (!details.empty()) absl::StrAppend(&out, ", \"details\": ", JsonList(details));
  return out + "}";
}

std::string Remark::Category() const {
  return absl::StrCat(RemarkKindName(kind), ":", pass, rule.empty() ? "" : ".", rule);
}

Remark RemarkOn(const Node& node, RemarkKind kind, absl::string_view reason) {
  constexpr size_t kMaxNames = 8;
  Remark remark;
  remark.kind = kind;
  remark.function = node.graph()->name();
  remark.op = std::string(node.op().name());
  remark.node = node.id();
  remark.provenance = node.graph()->module().provenance().Names(node.provenance(), kMaxNames);
  remark.reason = std::string(reason);
  return remark;
}

absl::StatusOr<std::vector<Remark>> FilterRemarks(std::vector<Remark> remarks,
                                                  const std::string& regex) {
  WEFT_ASSIGN_OR_RETURN(auto filter, NameFilter::Parse(regex));
  remarks.erase(std::remove_if(remarks.begin(), remarks.end(),
                               [&](const Remark& remark) {
                                 const bool loud = remark.kind == RemarkKind::kFailed ||
                                                   remark.kind == RemarkKind::kBudget;
                                 return !loud && !filter.Finds(remark.Category());
                               }),
                remarks.end());
  return remarks;
}

}  // namespace weft
