#include "api/inspect/describe.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "passes/canonicalize.h"
#include "passes/pipelines.h"
#include "serialize/pt2/pt2.h"

namespace weft {

std::string DescribeOps(const OpRegistry& ops) {
  std::string out;
  for (const OpDef* op : ops.All()) {
    absl::StrAppend(&out, op->schema_text(), "\n    ",
                    absl::StrReplaceAll(op->doc(), {{"\n", "\n    "}}),
                    op->is_composite() ? "\n    Composite." : "", "\n");
  }
  return out;
}

std::string DescribeAddedPasses(const PassRegistry& passes) {
  std::string out;
  for (const std::string& name : passes.PassNames()) {
    if (BuiltinPasses().Create(name) != nullptr) continue;
    absl::StrAppend(&out, "  ", name, "\n      ", passes.Create(name)->doc(), "\n");
  }
  for (const NamedPipeline& pipeline : passes.pipelines()) {
    if (BuiltinPasses().FindPipeline(pipeline.name) != nullptr) continue;
    absl::StrAppend(&out, "  ", pipeline.name, "\n      ", pipeline.doc, "\n");
  }
  return out;
}

absl::StatusOr<std::string> DescribeCoverage(const std::string& set) {
  if (set != "core-aten" && set != "aten") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown set of operators \"", set, "\"; known are core-aten and aten"));
  }
  constexpr const char* kKinds[] = {"native", "decomposed", "missing"};
  int counts[3] = {0, 0, 0};
  int all = 0;
  std::string out;
  for (const AtenSupport& op : AtenCoverage()) {
    if (set == "core-aten" && !op.core) continue;
    const int kind = static_cast<int>(op.kind);
    ++counts[kind];
    ++all;
    absl::StrAppend(&out, op.target, "  ", kKinds[kind], ": ", op.how, "\n");
  }
  absl::StrAppend(&out, all, " operators: ", counts[0], " native, ", counts[1], " decomposed, ",
                  counts[2], " missing\n");
  return out;
}

namespace {

void DescribeRule(const Rule& rule, absl::string_view standing, std::string* out) {
  absl::StrAppend(out, rule.name, "  [", NumericContractName(rule.contract), ", ", standing,
                  "]\n    ", rule.identity, "\n    matches ", ToString(rule.pattern));
  for (const Guard& guard : rule.guards.list) {
    if (guard.holds == nullptr) break;
    absl::StrAppend(out, ", if ", guard.name);
  }
  absl::StrAppend(out, "\n");
}

}  // namespace

std::string DescribeRules(const RuleSet* loaded) {
  std::string out;
  for (absl::Span<const Rule> theme : CanonicalizeRules()) {
    for (const Rule& rule : theme) DescribeRule(rule, "built in", &out);
  }
  if (loaded == nullptr) return out;
  for (size_t i = 0; i < loaded->rules().size(); ++i) {
    const int n = loaded->standing(static_cast<int>(i)).instances;
    DescribeRule(loaded->rules()[i],
                 n > 0 ? absl::StrCat("field-tested on ", n, " instances") : "assumed", &out);
  }
  return out;
}

}  // namespace weft
