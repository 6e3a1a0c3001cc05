#include "passes/engine/rewrite/pattern.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/op_def.h"

namespace weft {
namespace {

constexpr const char* kNames[Pattern::kNumVariables] = {"x", "y", "z", "u", "v", "w",
                                                        "a", "b", "c", "d", "e", "f"};

// True for a variable that occurs nowhere else in the pattern.
bool IsFree(const Pattern& pattern, int i) {
  const PatternNode& node = pattern.node(i);
  if (node.kind != PatternNode::Kind::kAny || node.one_use || node.predicate.holds != nullptr) {
    return false;
  }
  if (node.variable < 0) return true;
  int uses = 0;
  for (int k = 0; k < pattern.size(); ++k) {
    uses += pattern.node(k).variable == node.variable;
  }
  return uses == 1;
}

bool IsCommutative(const PatternNode& node) {
  if (node.kind != PatternNode::Kind::kOp) return false;
  if (node.op != nullptr) return node.op->has(kCommutative);
  if (node.ops == nullptr) return (node.traits & kCommutative) != 0;
  for (int i = 0; i < node.num_ops; ++i) {
    if (!node.ops[i]->has(kCommutative)) return false;
  }
  return true;
}

// True for a commutative node whose two operand patterns differ.
bool IsOrderChosen(const Pattern& pattern, int i) {
  const PatternNode& node = pattern.node(i);
  if (node.num_operands != 2 || !IsCommutative(node)) return false;
  const int first = i + 1;
  return !IsFree(pattern, first) || !IsFree(pattern, first + pattern.node(first).size);
}

std::string Head(const PatternNode& node) {
  switch (node.kind) {
    case PatternNode::Kind::kAny:
      return node.variable >= 0 ? "" : "any";
    case PatternNode::Kind::kConstant:
      return node.has_splat ? absl::StrCat(node.splat) : "constant";
    case PatternNode::Kind::kInput:
      return "input";
    case PatternNode::Kind::kRest:
      return "...";
    case PatternNode::Kind::kOneOf:
      return "one_of";
    case PatternNode::Kind::kOp:
      break;
  }
  std::string text;
  if (node.op != nullptr) {
    text = std::string(node.op->name());
  } else if (node.ops != nullptr) {
    for (int i = 0; i < node.num_ops; ++i) {
      absl::StrAppend(&text, i > 0 ? "|" : "", node.ops[i]->name());
    }
  } else {
    text = "op";
  }
  if (node.min != 1 || node.max != 1) {
    absl::StrAppend(&text, "{", node.min, ",", node.max, "}");
  }
  return text;
}

}  // namespace

std::vector<uint32_t> OrdersOf(const Pattern& pattern) {
  std::vector<uint32_t> orders = {0};
  for (int i = 0; i < pattern.size(); ++i) {
    if (!IsOrderChosen(pattern, i)) continue;
    const size_t n = orders.size();
    for (size_t k = 0; k < n; ++k) orders.push_back(orders[k] | uint32_t{1} << i);
  }
  return orders;
}

bool IsAbout(const PatternNode& node, const OpDef& op) {
  if (node.op != nullptr) return node.op == &op;
  if (node.ops == nullptr) return (op.traits() & node.traits) == node.traits;
  return std::find(node.ops, node.ops + node.num_ops, &op) != node.ops + node.num_ops;
}

const char* VariableName(int variable) { return kNames[variable]; }

// As deep as the pattern.
std::string ToString(const Pattern& pattern, int i) {
  const PatternNode& node = pattern.node(i);
  std::string text = Head(node);
  if (node.kind == PatternNode::Kind::kOp || node.kind == PatternNode::Kind::kOneOf) {
    absl::StrAppend(&text, "(", node.any_operands ? "..." : "");
    int operand = i + 1;
    for (int k = 0; k < node.num_operands; ++k) {
      absl::StrAppend(&text, k > 0 ? ", " : "", ToString(pattern, operand));
      operand += pattern.node(operand).size;
    }
    absl::StrAppend(&text, ")");
  }
  if (node.variable >= 0) {
    absl::StrAppend(&text, text.empty() ? "" : " as ", kNames[node.variable]);
  }
  if (node.one_use) absl::StrAppend(&text, " used once");
  if (node.predicate.holds != nullptr) {
    absl::StrAppend(&text, " if ", node.predicate.name);
  }
  return text;
}

}  // namespace weft
