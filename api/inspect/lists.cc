#include "api/inspect/lists.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "nlohmann/json.hpp"
#include "passes/canonicalize.h"
#include "passes/engine/remarks/name_filter.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct Entry {
  std::string name;
  std::string text;  // With its last newline.
  Json json;
};

// The entries that the form asks for, of a list of `kind`.
absl::StatusOr<std::string> Render(absl::string_view kind, std::vector<Entry> entries,
                                   const ListForm& form) {
  WEFT_ASSIGN_OR_RETURN(const NameFilter filter, NameFilter::Parse(form.names));
  std::string text;
  Json json = Json::array();
  std::vector<std::string> names;
  for (Entry& entry : entries) {
    names.push_back(entry.name);
    if (!filter.Matches(entry.name)) continue;
    text += entry.text;
    json.push_back(std::move(entry.json));
  }
  if (json.empty()) {
    return absl::NotFoundError(absl::StrCat("no ", kind, " is called \"", form.names, "\"",
                                            DidYouMean(form.names, names)));
  }
  if (!form.json) return text;
  return json.dump(1, ' ', false, Json::error_handler_t::replace).append("\n");
}

std::vector<std::string> TraitsOf(const OpDef& op) {
  constexpr std::pair<OpTraits, const char*> kNames[] = {
      {kPointwise, "pointwise"},          {kCommutative, "commutative"},
      {kDataMovement, "data_movement"},   {kReduction, "reduction"},
      {kDataDependent, "data_dependent"}, {kControlFlow, "control_flow"},
      {kSideEffect, "side_effect"},       {kTerminator, "terminator"}};
  std::vector<std::string> traits;
  for (const auto& [trait, name] : kNames) {
    if (op.has(trait)) traits.push_back(name);
  }
  return traits;
}

// The targets that run the op whole, as a routine or a composite.
std::vector<std::string> TargetsOf(const OpDef& op, absl::Span<const Target> targets) {
  std::vector<std::string> names;
  for (const Target& target : targets) {
    const bool routine =
        std::any_of(target.routines.begin(), target.routines.end(), [&](const Routine& routine) {
          return std::find(routine.ops.begin(), routine.ops.end(), op.name()) != routine.ops.end();
        });
    const bool composite = std::find(target.composites.begin(), target.composites.end(),
                                     op.name()) != target.composites.end();
    if (routine || composite) names.push_back(target.name);
  }
  return names;
}

Entry DescribeOp(const OpDef& op, const OpRegistry& ops, absl::Span<const Target> targets) {
  Entry entry;
  entry.name = std::string(op.name());
  const OnnxName* onnx = ops.OnnxNameOf(op);
  const std::string in_onnx = onnx == nullptr ? "" : absl::StrCat(onnx->domain, "::", onnx->type);
  entry.text =
      absl::StrCat(op.schema_text(), "\n    ", absl::StrReplaceAll(op.doc(), {{"\n", "\n    "}}),
                   op.is_composite() ? "\n    Composite." : "",
                   onnx == nullptr ? "" : absl::StrCat("\n    In ONNX: ", in_onnx, "."), "\n");
  entry.json = {{"name", entry.name},           {"schema", std::string(op.schema_text())},
                {"doc", std::string(op.doc())}, {"traits", TraitsOf(op)},
                {"decomposition", Json()},      {"targets", TargetsOf(op, targets)}};
  if (onnx != nullptr) entry.json["onnx"] = in_onnx;
  if (op.is_composite()) {
    const auto contract = op.known_decompose_contract();
    entry.json["decomposition"] =
        contract.has_value() ? Json(NumericContractName(*contract)) : Json("by attributes");
  }
  return entry;
}

Entry DescribePass(Pass& pass) {
  Entry entry;
  entry.name = std::string(pass.name());
  entry.text = absl::StrCat(pass.name(), "\n      ", pass.doc(), "\n");
  Json options = Json::array();
  for (const PassOption& option : OptionsOf(pass)) {
    absl::StrAppend(&entry.text, "      ", option.name, "=", option.value, "  ", option.doc, "\n");
    options.push_back({{"name", option.name}, {"default", option.value}, {"doc", option.doc}});
  }
  entry.json = {{"name", entry.name},
                {"kind", "pass"},
                {"doc", std::string(pass.doc())},
                {"loosest_contract", NumericContractName(pass.max_contract())},
                {"options", std::move(options)}};
  return entry;
}

Entry DescribePipeline(const NamedPipeline& pipeline) {
  Entry entry;
  entry.name = pipeline.name;
  entry.text = absl::StrCat("pipeline ", pipeline.name, "\n      ", pipeline.doc, "\n      ",
                            pipeline.text.empty() ? "(empty)" : pipeline.text, "\n");
  entry.json = {{"name", pipeline.name},
                {"kind", "pipeline"},
                {"doc", pipeline.doc},
                {"passes", pipeline.text}};
  return entry;
}

Entry DescribeRule(const Rule& rule, const std::string& standing) {
  Entry entry;
  entry.name = rule.name;
  Json guards = Json::array();
  std::string conditions;
  for (const Guard& guard : rule.guards.list) {
    if (guard.holds == nullptr) break;
    absl::StrAppend(&conditions, ", if ", guard.name);
    guards.push_back(guard.name);
  }
  entry.text =
      absl::StrCat(rule.name, "  [", NumericContractName(rule.contract), ", ", standing, "]\n    ",
                   rule.identity, "\n    matches ", ToString(rule.pattern), conditions, "\n");
  entry.json = {{"name", entry.name},
                {"contract", NumericContractName(rule.contract)},
                {"standing", standing},
                {"identity", std::string(rule.identity)},
                {"pattern", ToString(rule.pattern)},
                {"conditions", std::move(guards)}};
  return entry;
}

}  // namespace

absl::StatusOr<std::string> ListOps(const OpRegistry& ops, absl::Span<const Target> targets,
                                    const ListForm& form) {
  std::vector<Entry> entries;
  for (const OpDef* op : ops.All()) entries.push_back(DescribeOp(*op, ops, targets));
  return Render("op", std::move(entries), form);
}

absl::StatusOr<std::string> ListPasses(const PassRegistry& passes, const ListForm& form) {
  std::vector<Entry> entries;
  for (const std::string& name : passes.PassNames()) {
    entries.push_back(DescribePass(*passes.Create(name)));
  }
  for (const NamedPipeline& pipeline : passes.pipelines()) {
    entries.push_back(DescribePipeline(pipeline));
  }
  return Render("pass or pipeline", std::move(entries), form);
}

absl::StatusOr<std::string> ListRules(const RuleSet* loaded, const ListForm& form) {
  std::vector<Entry> entries;
  for (absl::Span<const Rule> theme : CanonicalizeRules()) {
    for (const Rule& rule : theme) entries.push_back(DescribeRule(rule, "built in"));
  }
  for (size_t i = 0; loaded != nullptr && i < loaded->rules().size(); ++i) {
    const int n = loaded->standing(static_cast<int>(i)).instances;
    entries.push_back(DescribeRule(
        loaded->rules()[i], n > 0 ? absl::StrCat("field-tested on ", n, " instances") : "assumed"));
  }
  return Render("rule", std::move(entries), form);
}

}  // namespace weft
