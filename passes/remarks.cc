#include "passes/remarks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {

absl::string_view RemarkKindName(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kPassed:
      return "passed";
    case RemarkKind::kMissed:
      return "missed";
    case RemarkKind::kAnalysis:
      return "analysis";
    case RemarkKind::kFailed:
      return "failed";
  }
  return "";
}

std::string Remark::ToString() const {
  std::string text = absl::StrCat(RemarkKindName(kind), " ", pass);
  if (!rule.empty()) absl::StrAppend(&text, ".", rule);
  if (!function.empty()) absl::StrAppend(&text, " @", function);
  if (!op.empty()) absl::StrAppend(&text, " %", node, " = ", op);
  if (!provenance.empty()) {
    absl::StrAppend(&text, " (from \"", absl::StrJoin(provenance, "\", \""),
                    "\")");
  }
  absl::StrAppend(&text, ": ", reason);
  for (const auto& [name, value] : args) {
    absl::StrAppend(&text, ", ", name, "=", value);
  }
  return text;
}

Remark RemarkOn(const Node& node, RemarkKind kind, absl::string_view reason) {
  constexpr size_t kMaxNames = 8;
  Remark remark;
  remark.kind = kind;
  remark.function = node.graph()->name();
  remark.op = std::string(node.op().name());
  remark.node = node.id();
  remark.provenance =
      node.graph()->module().provenance().Names(node.provenance(), kMaxNames);
  remark.reason = std::string(reason);
  return remark;
}

}  // namespace weft
