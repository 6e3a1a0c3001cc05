// Reads policies, statement by statement; policy.h has the grammar.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "passes/engine/registry.h"
#include "passes/engine/rules/scanner.h"
#include "passes/quantize/policy.h"

namespace weft {
namespace {

class PolicyParser : private RuleScanner {
 public:
  PolicyParser(absl::string_view text, absl::string_view file, const OpRegistry& registry,
               const PolicyParameters& parameters)
      : RuleScanner(text, file), registry_(registry), given_(parameters) {}

  absl::StatusOr<QuantPolicy> Run() {
    WEFT_RETURN_IF_ERROR(ParseHead());
    while (!AtEnd()) WEFT_RETURN_IF_ERROR(ParseStatement());
    if (policy_.rows.empty()) return Error("a policy has a row `op` at least");
    return std::move(policy_);
  }

 private:
  // An error about what begins at `mark`.
  absl::Status ErrorAt(size_t mark, absl::string_view message) {
    Rewind(mark);
    return Error(message);
  }

  absl::Status ParseHead() {
    WEFT_RETURN_IF_ERROR(Expect("policy"));
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("the policy's name"));
    policy_.name = std::string(name);
    if (Take("(")) WEFT_RETURN_IF_ERROR(ParseParameters());
    if (Peek("\"")) {
      WEFT_ASSIGN_OR_RETURN(policy_.doc, String());
    }
    std::vector<std::string> names;
    for (const auto& [own, value] : policy_.parameters) names.push_back(own);
    for (const auto& [given, value] : given_) {
      const auto it = std::find(names.begin(), names.end(), given);
      if (it == names.end()) {
        return Error(absl::StrCat("the policy ", policy_.name, " has no parameter ", given,
                                  DidYouMean(given, names)));
      }
      policy_.parameters[it - names.begin()].second = value;
    }
    return absl::OkStatus();
  }

  absl::Status ParseParameters() {
    do {
      WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a parameter"));
      WEFT_RETURN_IF_ERROR(Expect("="));
      WEFT_ASSIGN_OR_RETURN(const int64_t value, Integer());
      policy_.parameters.emplace_back(name, value);
    } while (Take(","));
    return Expect(")");
  }

  absl::Status ParseStatement() {
    if (Take(";")) return absl::OkStatus();
    if (Take("spec")) return ParseSpec(/*weight=*/false);
    if (Take("weight")) return ParseSpec(/*weight=*/true);
    if (Take("op")) return ParseRow();
    if (Take("fuse")) return ParseFusion();
    if (Take("propagate")) return ParsePropagation();
    if (Take("exclude")) return ParseExclusions();
    return Error("expected spec, weight, op, fuse, propagate or exclude");
  }

  int FindSpec(absl::string_view name) const {
    for (size_t i = 0; i < policy_.specs.size(); ++i) {
      if (policy_.specs[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  absl::StatusOr<int> SpecIndex() {
    const size_t begin = Mark();
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("the name of a spec"));
    const int spec = FindSpec(name);
    if (spec >= 0) return spec;
    std::vector<std::string> names;
    for (const QuantPolicy::NamedSpec& known : policy_.specs) names.push_back(known.name);
    return ErrorAt(begin, absl::StrCat("no spec ", name, " above", DidYouMean(name, names)));
  }

  absl::StatusOr<const OpDef*> Op() {
    const size_t begin = Mark();
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("an op"));
    if (const OpDef* op = registry_.Find(name)) return op;
    std::vector<std::string> names;
    for (const OpDef* op : registry_.All()) names.emplace_back(op->name());
    return ErrorAt(begin, absl::StrCat("no op ", name, DidYouMean(name, names)));
  }

  // --- Statements ------------------------------------------------------------

  absl::Status ParseSpec(bool weight) {
    const size_t begin = Mark();
    QuantPolicy::NamedSpec named;
    named.weight = weight;
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a name for the spec"));
    named.name = std::string(name);
    if (name == "_") return ErrorAt(begin, "_ stands for float");
    if (FindSpec(name) >= 0) return ErrorAt(begin, absl::StrCat("a second spec ", name));
    WEFT_RETURN_IF_ERROR(Expect("="));
    const size_t start = Mark();
    const std::string written(TakeStatement());
    std::string text = written;
    for (const auto& [parameter, value] : policy_.parameters) {
      absl::StrReplaceAll({{absl::StrCat("$", parameter), absl::StrCat(value)}}, &text);
    }
    size_t at = 0;
    absl::StatusOr<QuantSpec> spec = ParseQuantSpecAt(text, &at);
    // Columns are those of the text as written.
    if (!spec.ok()) {
      return ErrorAt(start + (text == written ? at : 0), spec.status().message());
    }
    named.spec = *std::move(spec);
    if (text != written) named.text = written;
    policy_.specs.push_back(std::move(named));
    return absl::OkStatus();
  }

  absl::StatusOr<QuantPolicy::Slot> ParseSlot() {
    QuantPolicy::Slot slot;
    if (Take("_")) return slot;
    WEFT_ASSIGN_OR_RETURN(slot.spec, SpecIndex());
    const size_t begin = Mark();
    if (!Take("axis")) return slot;
    WEFT_RETURN_IF_ERROR(Expect("="));
    WEFT_ASSIGN_OR_RETURN(const int64_t axis, Integer());
    const QuantGranularity granularity = policy_.specs[slot.spec].spec.granularity;
    if (granularity != QuantGranularity::kAxis && granularity != QuantGranularity::kBlock) {
      return ErrorAt(begin, absl::StrCat("the spec ", policy_.specs[slot.spec].name,
                                         " has no axis to replace"));
    }
    slot.axis = static_cast<int>(axis);
    return slot;
  }

  absl::Status ParseRow() {
    const size_t begin = Mark();
    QuantPolicy::Row row;
    WEFT_ASSIGN_OR_RETURN(row.op, Op());
    WEFT_RETURN_IF_ERROR(Expect("("));
    while (!Peek(")")) {
      WEFT_ASSIGN_OR_RETURN(QuantPolicy::Slot slot, ParseSlot());
      row.operands.push_back(slot);
      if (!Take(",")) break;
    }
    WEFT_RETURN_IF_ERROR(Expect(")"));
    if (Take("->")) {
      WEFT_ASSIGN_OR_RETURN(row.result, ParseSlot());
    }
    if (Take("where")) {
      do {
        row.conditions.emplace_back();
        WEFT_RETURN_IF_ERROR(ParseCondition(*row.op, &row.conditions.back()));
      } while (Take(","));
    }
    const std::string wrong = CheckRow(row);
    if (!wrong.empty()) return ErrorAt(begin, wrong);
    policy_.rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  // The reason for which the row is refused; empty: there is none.
  std::string CheckRow(const QuantPolicy::Row& row) const {
    const OpSchema& schema = row.op->schema();
    if (!schema.regions.empty() || schema.writes || schema.results.empty()) {
      return absl::StrCat(schema.name, ": rows are about ops with results, without graphs and ",
                          "without writes");
    }
    if (row.operands.size() > schema.operands.size()) {
      return absl::StrCat(schema.name, " has ", schema.operands.size(), " operands");
    }
    bool any = row.result.spec >= 0;
    for (size_t i = 0; i < row.operands.size(); ++i) {
      if (row.operands[i].spec < 0) continue;
      any = true;
      if (schema.operands[i].symint || schema.operands[i].variadic) {
        return absl::StrCat("the operand ", schema.operands[i].name, " of ", schema.name,
                            " is not one tensor");
      }
      const bool derived = policy_.specs[row.operands[i].spec].spec.scheme == QuantScheme::kDerived;
      if (derived && (i < 2 || row.operands[0].spec < 0 || row.operands[1].spec < 0)) {
        return "a derived spec is of an operand behind two that are quantized";
      }
    }
    return any ? "" : "a row quantizes something";
  }

  absl::Status ParseCondition(const OpDef& op, QuantPolicy::Condition* condition) {
    const size_t begin = Mark();
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a condition"));
    condition->name = std::string(name);
    std::vector<std::string> names = {"same_shape", "matrices", "independent"};
    if (std::find(names.begin(), names.end(), condition->name) != names.end()) {
      if (op.schema().num_fixed_operands() >= 2) return absl::OkStatus();
      return ErrorAt(begin, absl::StrCat(op.name(), " has one operand"));
    }
    for (const AttrSpec& attr : op.schema().attrs) names.push_back(attr.name);
    const int i = op.schema().FindAttr(name);
    if (i < 0) {
      return ErrorAt(begin,
                     absl::StrCat(op.name(), " has no attribute ", name, DidYouMean(name, names)));
    }
    const AttrKind kind = op.schema().attrs[i].kind;
    if (kind != AttrKind::kBool && kind != AttrKind::kInt && kind != AttrKind::kSymInt) {
      return ErrorAt(begin, absl::StrCat(name, " is no bool and no integer"));
    }
    condition->is_attr = true;
    WEFT_RETURN_IF_ERROR(Expect("="));
    if (kind == AttrKind::kBool) {
      condition->value = Take("true");
      return condition->value != 0 ? absl::OkStatus() : Expect("false");
    }
    WEFT_ASSIGN_OR_RETURN(condition->value, Integer());
    return absl::OkStatus();
  }

  absl::Status ParseFusion() {
    QuantPolicy::Fusion fusion;
    const size_t begin = Mark();
    WEFT_ASSIGN_OR_RETURN(fusion.first, Op());
    const auto has_row = [&](const QuantPolicy::Row& row) { return row.op == fusion.first; };
    if (std::none_of(policy_.rows.begin(), policy_.rows.end(), has_row)) {
      return ErrorAt(begin, absl::StrCat("no row `op ", fusion.first->name(), "` above"));
    }
    if (!Peek("+")) return ErrorAt(begin, "expected '+' and an op that is fused");
    while (Take("+")) {
      fusion.steps.emplace_back();
      WEFT_RETURN_IF_ERROR(ParseStep(&fusion.steps.back()));
    }
    policy_.fusions.push_back(std::move(fusion));
    return absl::OkStatus();
  }

  absl::Status ParseStep(QuantPolicy::Step* step) {
    do {
      const size_t begin = Mark();
      WEFT_ASSIGN_OR_RETURN(const OpDef* op, Op());
      if (op->schema().results.size() != 1 || op->schema().has_variadic_result()) {
        return ErrorAt(begin, absl::StrCat(op->name(), " has more than one result"));
      }
      step->ops.push_back(op);
    } while (Take("|"));
    if (!Take("(")) return absl::OkStatus();
    WEFT_ASSIGN_OR_RETURN(step->other, SpecIndex());
    return Expect(")");
  }

  absl::Status ParsePropagation() {
    QuantPolicy::Propagation propagation;
    WEFT_ASSIGN_OR_RETURN(propagation.spec, SpecIndex());
    WEFT_RETURN_IF_ERROR(Expect(":"));
    do {
      const size_t begin = Mark();
      WEFT_ASSIGN_OR_RETURN(const OpDef* op, Op());
      if (op->schema().operands.empty() || op->schema().results.empty() ||
          !op->schema().regions.empty()) {
        return ErrorAt(begin, absl::StrCat(op->name(), " does not pass a value on"));
      }
      propagation.ops.push_back(op);
    } while (Take(","));
    policy_.propagations.push_back(std::move(propagation));
    return absl::OkStatus();
  }

  absl::Status ParseExclusions() {
    do {
      if (Peek("\"")) {
        WEFT_ASSIGN_OR_RETURN(std::string name, String());
        policy_.excluded_names.push_back(std::move(name));
        continue;
      }
      WEFT_ASSIGN_OR_RETURN(const OpDef* op, Op());
      policy_.excluded_ops.push_back(op);
    } while (Take(","));
    return absl::OkStatus();
  }

  const OpRegistry& registry_;
  const PolicyParameters& given_;
  QuantPolicy policy_;
};

}  // namespace

absl::StatusOr<QuantPolicy> ParseQuantPolicy(absl::string_view text, absl::string_view file,
                                             const OpRegistry& registry,
                                             const PolicyParameters& parameters) {
  return PolicyParser(text, file, registry, parameters).Run();
}

}  // namespace weft
