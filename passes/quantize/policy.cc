// Printing and looking up policies; policy_parse.cc reads them.
#include "passes/quantize/policy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/registry.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

std::string SlotText(const QuantPolicy& policy, const QuantPolicy::Slot& slot) {
  if (slot.spec < 0) return "_";
  const std::string& name = policy.specs[slot.spec].name;
  return slot.axis ? absl::StrCat(name, " axis=", *slot.axis) : name;
}

std::string ConditionText(const OpDef& op, const QuantPolicy::Condition& condition) {
  if (!condition.is_attr) return condition.name;
  const OpSchema& schema = op.schema();
  const bool is_bool = schema.attrs[schema.FindAttr(condition.name)].kind == AttrKind::kBool;
  if (!is_bool) return absl::StrCat(condition.name, "=", condition.value);
  return absl::StrCat(condition.name, "=", condition.value != 0 ? "true" : "false");
}

std::string RowText(const QuantPolicy& policy, const QuantPolicy::Row& row) {
  const auto slot = [&](std::string* out, const QuantPolicy::Slot& s) {
    out->append(SlotText(policy, s));
  };
  std::string text =
      absl::StrCat("op ", row.op->name(), "(", absl::StrJoin(row.operands, ", ", slot), ")");
  if (row.result.spec >= 0) absl::StrAppend(&text, " -> ", SlotText(policy, row.result));
  if (row.conditions.empty()) return text;
  const auto condition = [&](std::string* out, const QuantPolicy::Condition& c) {
    out->append(ConditionText(*row.op, c));
  };
  return absl::StrCat(text, " where ", absl::StrJoin(row.conditions, ", ", condition));
}

void AppendOp(std::string* out, const OpDef* op) { absl::StrAppend(out, op->name()); }

std::string FusionText(const QuantPolicy& policy, const QuantPolicy::Fusion& fusion) {
  std::string text = absl::StrCat("fuse ", fusion.first->name());
  for (const QuantPolicy::Step& step : fusion.steps) {
    absl::StrAppend(&text, " + ", absl::StrJoin(step.ops, "|", AppendOp));
    if (step.other >= 0) absl::StrAppend(&text, "(", policy.specs[step.other].name, ")");
  }
  return text;
}

std::string HeadText(const QuantPolicy& policy) {
  std::string text = absl::StrCat("policy ", policy.name);
  if (!policy.parameters.empty()) {
    absl::StrAppend(&text, "(", absl::StrJoin(policy.parameters, ", ", absl::PairFormatter("=")),
                    ")");
  }
  return policy.doc.empty() ? text : absl::StrCat(text, " \"", policy.doc, "\"");
}

// "name{a=1,b=2}".
absl::StatusOr<PolicyParameters> ParametersOf(absl::string_view text) {
  PolicyParameters parameters;
  if (!absl::ConsumeSuffix(&text, "}")) {
    return absl::InvalidArgumentError("the parameters of a policy end with '}'");
  }
  for (absl::string_view entry : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(entry, '=');
    int64_t value = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", entry, "\" is no parameter of a policy; one is name=integer"));
    }
    parameters.emplace_back(absl::StripAsciiWhitespace(parts[0]), value);
  }
  return parameters;
}

}  // namespace

QuantSpec QuantPolicy::SpecOf(const Slot& slot) const {
  QuantSpec spec = specs[slot.spec].spec;
  if (slot.axis) spec.axis = *slot.axis;
  return spec;
}

std::string ToText(const QuantPolicy& policy) {
  std::vector<std::string> lines = {HeadText(policy)};
  for (const QuantPolicy::NamedSpec& spec : policy.specs) {
    lines.push_back(absl::StrCat(spec.weight ? "weight " : "spec ", spec.name, " = ",
                                 spec.text.empty() ? ToText(spec.spec) : spec.text));
  }
  for (const QuantPolicy::Row& row : policy.rows) lines.push_back(RowText(policy, row));
  for (const QuantPolicy::Fusion& fusion : policy.fusions) {
    lines.push_back(FusionText(policy, fusion));
  }
  for (const QuantPolicy::Propagation& propagation : policy.propagations) {
    lines.push_back(absl::StrCat("propagate ", policy.specs[propagation.spec].name, ": ",
                                 absl::StrJoin(propagation.ops, ", ", AppendOp)));
  }
  std::vector<std::string> excluded;
  for (const std::string& name : policy.excluded_names) {
    excluded.push_back(absl::StrCat("\"", name, "\""));
  }
  for (const OpDef* op : policy.excluded_ops) excluded.emplace_back(op->name());
  if (!excluded.empty()) lines.push_back("exclude " + absl::StrJoin(excluded, ", "));
  return absl::StrJoin(lines, "\n") + "\n";
}

absl::StatusOr<QuantPolicy> LoadQuantPolicy(absl::string_view name_or_text) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(name_or_text);
  if (absl::StartsWith(text, "#") || absl::StartsWith(text, "policy ")) {
    return ParseQuantPolicy(name_or_text, "policy", ops::Registry());
  }
  const size_t brace = std::min(text.find('{'), text.size());
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, brace));
  PolicyParameters parameters;
  if (brace < text.size()) {
    auto parsed = ParametersOf(absl::StripTrailingAsciiWhitespace(text.substr(brace + 1)));
    if (!parsed.ok()) return parsed.status();
    parameters = *std::move(parsed);
  }
  const absl::string_view builtin = BuiltinQuantPolicyText(name);
  if (!builtin.empty()) return ParseQuantPolicy(builtin, name, ops::Registry(), parameters);
  const absl::Span<const absl::string_view> names = BuiltinQuantPolicies();
  const std::vector<std::string> known(names.begin(), names.end());
  return absl::InvalidArgumentError(
      absl::StrCat("no policy is called \"", name, "\"", DidYouMean(name, known), " There are ",
                   absl::StrJoin(known, ", "), "; the text of a policy begins with `policy`"));
}

absl::Status SetActivationObserver(absl::string_view observer, QuantPolicy* policy) {
  if (observer.empty()) return absl::OkStatus();
  for (QuantPolicy::NamedSpec& named : policy->specs) {
    if (named.weight || !IsObserved(named.spec)) continue;
    named.spec.observer = std::string(observer);
    WEFT_RETURN_IF_ERROR(CheckQuantSpec(named.spec));
  }
  return absl::OkStatus();
}

bool MatchesGlob(absl::string_view pattern, absl::string_view name) {
  // Where to go on after a mismatch: behind the last star, which takes one more character.
  size_t p = 0, n = 0, star = pattern.npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace weft
