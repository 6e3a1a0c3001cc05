#include "passes/quantize/match_row.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/tensor/type.h"

namespace weft {
namespace {

class RowMatcher {
 public:
  RowMatcher(const QuantPolicy& policy, const QuantPolicy::Row& row, const Node& node,
             const absl::flat_hash_set<const Value*>& constants)
      : policy_(policy), row_(row), node_(node), constants_(constants) {}

  std::string Run() const {
    for (size_t i = 0; i < row_.operands.size(); ++i) {
      std::string wrong = CheckOperand(static_cast<int>(i));
      if (!wrong.empty()) return wrong;
    }
    for (const QuantPolicy::Condition& condition : row_.conditions) {
      std::string wrong = CheckCondition(condition);
      if (!wrong.empty()) return wrong;
    }
    if (row_.result.spec < 0) return "";
    return CheckType("the result", node_.result()->type(), policy_.SpecOf(row_.result));
  }

 private:
  static std::string CheckType(const std::string& what, Type type, const QuantSpec& spec) {
    if (!type.is_tensor()) return absl::StrCat(what, " is a size");
    if (!IsQuantizable(type)) return absl::StrCat(what, " is ", DTypeName(type.dtype()));
    const bool by_axis =
        spec.granularity == QuantGranularity::kAxis || spec.granularity == QuantGranularity::kBlock;
    if (by_axis && (spec.axis >= type.rank() || spec.axis < -type.rank())) {
      return absl::StrCat(what, " of rank ", type.rank(), " has no axis ", spec.axis);
    }
    if (spec.granularity == QuantGranularity::kToken && type.rank() == 0) {
      return absl::StrCat(what, " has no tokens");
    }
    return "";
  }

  std::string CheckOperand(int i) const {
    const QuantPolicy::Slot& slot = row_.operands[i];
    if (slot.spec < 0 || !node_.has_operand(i)) return "";
    const Value* operand = node_.operand(i);
    const QuantPolicy::NamedSpec& named = policy_.specs[slot.spec];
    const std::string what =
        absl::StrCat("operand ", i, " (", node_.op().schema().operands[i].name, ")");
    std::string wrong = CheckType(what, operand->type(), policy_.SpecOf(slot));
    if (!wrong.empty()) return wrong;
    const bool constant = constants_.contains(operand);
    if (named.weight && !constant) return absl::StrCat(what, " is not constant");
    const bool derived = named.spec.scheme == QuantScheme::kDerived;
    if (!named.weight && !derived && constant && operand->type().numel().Is(1)) {
      return absl::StrCat(what, " is a constant of one element");
    }
    return "";
  }

  std::string CheckCondition(const QuantPolicy::Condition& condition) const {
    if (!condition.is_attr) return CheckPredicate(condition.name);
    const AttrValue& value = node_.attrs().Get(condition.name);
    const bool* flag = value.get_if<bool>();
    const SymInt* number = value.get_if<SymInt>();
    const bool equal = (flag != nullptr && *flag == (condition.value != 0)) ||
                       (number != nullptr && number->Is(condition.value));
    return equal ? "" : absl::StrCat(condition.name, " is ", value.ToString());
  }

  std::string CheckPredicate(absl::string_view name) const {
    if (!node_.has_operand(0) || !node_.has_operand(1)) return "an operand is absent";
    const Type a = node_.operand(0)->type(), b = node_.operand(1)->type();
    if (name == "same_shape") return a == b ? "" : "the operands differ in shape";
    if (name == "independent") {
      return HaveCommonSource() ? "both operands are computed from one value" : "";
    }
    const bool matrices = a.is_tensor() && b.is_tensor() && a.rank() >= 2 && b.rank() >= 2;
    return matrices ? "" : "an operand is a vector";
  }

  // The operand and the values before it, as far as nodes between are pointwise.
  absl::flat_hash_set<const Value*> SourcesOf(int operand) const {
    std::vector<const Value*> reached = {node_.operand(operand)};
    absl::flat_hash_set<const Value*> seen(reached.begin(), reached.end());
    for (size_t i = 0; i < reached.size() && reached.size() < kMaxSources; ++i) {
      const Node* node = reached[i]->node();
      if (node == nullptr || !node->op().has(kPointwise)) continue;
      for (int k = 0; k < node->num_operands(); ++k) {
        if (!node->has_operand(k) || constants_.contains(node->operand(k))) continue;
        if (seen.insert(node->operand(k)).second) reached.push_back(node->operand(k));
      }
    }
    return seen;
  }

  bool HaveCommonSource() const {
    const absl::flat_hash_set<const Value*> first = SourcesOf(0), second = SourcesOf(1);
    return std::any_of(first.begin(), first.end(),
                       [&second](const Value* value) { return second.contains(value); });
  }

  // Values that a search for a common source looks at.
  static constexpr size_t kMaxSources = 32;

  const QuantPolicy& policy_;
  const QuantPolicy::Row& row_;
  const Node& node_;
  const absl::flat_hash_set<const Value*>& constants_;
};

}  // namespace

bool IsQuantizable(Type type) {
  return type.is_tensor() && (type.dtype() == DType::kF32 || type.dtype() == DType::kF16 ||
                              type.dtype() == DType::kBF16);
}

std::string WhyNoMatch(const QuantPolicy& policy, const QuantPolicy::Row& row, const Node& node,
                       const absl::flat_hash_set<const Value*>& constants) {
  return RowMatcher(policy, row, node, constants).Run();
}

}  // namespace weft
