// Formulas of ops:
//
//   formula   sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sum       product {("+" | "-") product}
//   product   factor {("*" | "/") factor}
//   factor    "-" factor, number, NAME, "(" formula ")", or
//             OP "(" formulas {"," ATTR "=" (NAME | literal)} ")"
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/elementwise.h"
#include "passes/engine/rules/parser.h"

namespace weft {

using ops::FormulaAttr;
using ops::FormulaNode;
using Kind = FormulaNode::Kind;

absl::StatusOr<int> RuleParser::AddFormulaNode(FormulaNode node) {
  if (formula_.size() == ops::FormulaOp::kMaxNodes) {
    return Error(absl::StrCat("a formula has at most ", ops::FormulaOp::kMaxNodes, " nodes"));
  }
  formula_.push_back(std::move(node));
  return static_cast<int>(formula_.size()) - 1;
}

absl::StatusOr<int> RuleParser::AddFormulaOp(const OpDef& op, std::vector<int> inputs) {
  FormulaNode node;
  node.kind = Kind::kOp;
  node.op = &op;
  node.inputs = std::move(inputs);
  return AddFormulaNode(std::move(node));
}

absl::StatusOr<int> RuleParser::ParseFormula(int depth) {
  if (depth > kMaxNesting) {
    return Error(absl::StrCat("a formula is nested at most ", kMaxNesting, " levels deep"));
  }
  WEFT_ASSIGN_OR_RETURN(const int left, ParseSum(depth));
  static constexpr std::pair<const char*, const OpDef*> kComparisons[] = {
      {"<=", &ops::le}, {"<", &ops::lt},  {">=", &ops::ge},
      {">", &ops::gt},  {"==", &ops::eq}, {"!=", &ops::ne}};
  for (const auto& [token, op] : kComparisons) {
    if (!Take(token)) continue;
    WEFT_ASSIGN_OR_RETURN(const int right, ParseSum(depth));
    return AddFormulaOp(*op, {left, right});
  }
  return left;
}

absl::StatusOr<int> RuleParser::ParseSum(int depth) {
  WEFT_ASSIGN_OR_RETURN(int sum, ParseProduct(depth));
  while (Peek("+") || Peek("-")) {
    const OpDef& op = Take("+") ? ops::add : ops::sub;
    if (&op == &ops::sub) Take("-");
    WEFT_ASSIGN_OR_RETURN(const int right, ParseProduct(depth));
    WEFT_ASSIGN_OR_RETURN(sum, AddFormulaOp(op, {sum, right}));
  }
  return sum;
}

absl::StatusOr<int> RuleParser::ParseProduct(int depth) {
  WEFT_ASSIGN_OR_RETURN(int product, ParseFactor(depth));
  while (Peek("*") || Peek("/")) {
    const OpDef& op = Take("*") ? ops::mul : ops::div;
    if (&op == &ops::div) Take("/");
    WEFT_ASSIGN_OR_RETURN(const int right, ParseFactor(depth));
    WEFT_ASSIGN_OR_RETURN(product, AddFormulaOp(op, {product, right}));
  }
  return product;
}

absl::StatusOr<int> RuleParser::ParseFactor(int depth) {
  if (AtNumber()) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view text, Number());
    FormulaNode number;
    number.kind = Kind::kNumber;
    (void)absl::SimpleAtod(text, &number.number);
    return AddFormulaNode(std::move(number));
  }
  if (Take("-")) {
    if (depth > kMaxNesting) {
      return Error(absl::StrCat("a formula is nested at most ", kMaxNesting, " levels deep"));
    }
    WEFT_ASSIGN_OR_RETURN(const int operand, ParseFactor(depth + 1));
    return AddFormulaOp(ops::neg, {operand});
  }
  if (Take("(")) {
    WEFT_ASSIGN_OR_RETURN(const int inner, ParseFormula(depth + 1));
    WEFT_RETURN_IF_ERROR(Expect(")"));
    return inner;
  }
  const size_t begin = Mark();
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("a value"));
  if (Take("(")) return ParseFormulaCall(name, depth + 1);
  const absl::StatusOr<int> node = FormulaName(name);
  if (node.ok()) return node;
  Rewind(begin);
  return Error(node.status().message());
}

// An operand is one node, however often it is used.
absl::StatusOr<int> RuleParser::FormulaName(absl::string_view name) {
  FormulaNode node;
  for (size_t i = 0; i < schema_->operands.size(); ++i) {
    if (schema_->operands[i].name == name) node.index = static_cast<int>(i);
  }
  if (node.index < 0) {
    node.kind = Kind::kAttr;
    node.index = schema_->FindAttr(name);
    if (node.index < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is neither an operand nor an attribute of ", schema_->name));
    }
    const AttrKind kind = schema_->attrs[node.index].kind;
    if (kind != AttrKind::kInt && kind != AttrKind::kFloat) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", name, " is neither int nor float, so it cannot be a number"));
    }
  }
  for (size_t i = 0; i < formula_.size(); ++i) {
    if (formula_[i].kind == node.kind && formula_[i].index == node.index) {
      return static_cast<int>(i);
    }
  }
  return AddFormulaNode(std::move(node));
}

absl::StatusOr<int> RuleParser::ParseFormulaCall(absl::string_view name, int depth) {
  WEFT_ASSIGN_OR_RETURN(const OpDef* op, Op(name));
  const OpSchema& schema = op->schema();
  bool sizes = schema.results[0].symint || schema.has_variadic_result();
  for (const OperandSpec& operand : schema.operands) sizes |= operand.symint;
  if (sizes) return Error(absl::StrCat(name, ": formulas are about ops of tensors"));
  FormulaNode node;
  node.kind = Kind::kOp;
  node.op = op;
  while (!Take(")")) {
    const absl::string_view attr = TakeAttrName();
    if (attr.empty()) {
      WEFT_ASSIGN_OR_RETURN(const int operand, ParseFormula(depth));
      node.inputs.push_back(operand);
    } else {
      WEFT_ASSIGN_OR_RETURN(FormulaAttr given, ParseFormulaAttr(*op, attr));
      for (const FormulaAttr& other : node.attrs) {
        if (other.name == attr) return Error(absl::StrCat("a second value for ", attr));
      }
      node.attrs.push_back(std::move(given));
    }
    if (!Take(",") && !Peek(")")) return Error("expected ',' or ')'");
  }
  WEFT_RETURN_IF_ERROR(CheckOperands(*op, static_cast<int>(node.inputs.size())));
  for (const AttrSpec& attr : schema.attrs) {
    bool given = attr.default_value.has_value();
    for (const FormulaAttr& other : node.attrs) given |= other.name == attr.name;
    if (!given) return Error(absl::StrCat(name, ": attribute ", attr.name, " is missing"));
  }
  return AddFormulaNode(std::move(node));
}

absl::StatusOr<FormulaAttr> RuleParser::ParseFormulaAttr(const OpDef& op, absl::string_view name) {
  FormulaAttr attr;
  attr.name = std::string(name);
  WEFT_ASSIGN_OR_RETURN(const int index, AttrIndex(op, name));
  const AttrKind kind = op.schema().attrs[index].kind;
  const size_t begin = Mark();
  const absl::string_view own = TakeName();
  attr.from = own.empty() ? -1 : schema_->FindAttr(own);
  if (attr.from < 0) {
    Rewind(begin);
    WEFT_ASSIGN_OR_RETURN(attr.value, LiteralOf(kind, name));
    return attr;
  }
  const AttrKind given = schema_->attrs[attr.from].kind;
  const bool integer = kind == AttrKind::kSymInt && given == AttrKind::kInt;
  const bool integers = kind == AttrKind::kSymInts && given == AttrKind::kInts;
  if (given == kind || integer || integers) return attr;
  return Error(absl::StrCat(own, " has another type than ", op.name(), "'s ", name));
}

}  // namespace weft
