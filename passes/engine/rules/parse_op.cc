// Ops of rule files: their names, arguments and names in ONNX.
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "passes/engine/rules/parser.h"

namespace weft {
namespace {

constexpr size_t kMaxArguments = 32;

}  // namespace

absl::Status RuleParser::ParseOwnOp() {
  const size_t begin = Mark();
  WEFT_RETURN_IF_ERROR(Expect("op"));
  OwnOpText text;
  WEFT_ASSIGN_OR_RETURN(text.name, OwnOpName());
  WEFT_RETURN_IF_ERROR(Expect("("));
  while (!Take(")")) {
    WEFT_RETURN_IF_ERROR(ParseArgument(&text));
    if (!Take(",") && !Peek(")")) return Error("expected ',' or ')'");
  }
  WEFT_ASSIGN_OR_RETURN(const OpSchema schema, SchemaOf(text));
  std::string doc;
  if (Peek("\"")) {
    WEFT_ASSIGN_OR_RETURN(doc, String());
  }
  RuleFile::OwnOp op;
  if (Take("onnx")) WEFT_RETURN_IF_ERROR(ParseOnnxName(&op));
  WEFT_RETURN_IF_ERROR(Expect("="));
  schema_ = &schema;
  formula_.clear();
  WEFT_RETURN_IF_ERROR(ParseFormula(0).status());
  schema_ = nullptr;
  if (doc.empty()) doc = std::string(Since(begin));
  ops::OpTexts texts = {
      text.name, absl::StrCat(text.name, "(", absl::StrJoin(text.arguments, ", "), ") -> Tensor"),
      std::move(doc)};
  auto made = ops::FormulaOp::Make(std::move(texts), std::move(formula_));
  if (!made.ok()) return Error(absl::StrCat("op ", text.name, ": ", made.status().message()));
  op.op = *std::move(made);
  registry_.Register(op.op.get());
  if (op.onnx) registry_.NameInOnnx(op.op.get(), *op.onnx);
  contents_.ops.push_back(std::move(op));
  return absl::OkStatus();
}

absl::StatusOr<std::string> RuleParser::OwnOpName() {
  const size_t begin = Mark();
  WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("the op's name"));
  if (registry_.Find(name) == nullptr) return std::string(name);
  Rewind(begin);
  return Error(absl::StrCat("there is an op called ", name, " already"));
}

// `NAME`, an operand, or `TYPE NAME [= DEFAULT]`, an attribute.
absl::Status RuleParser::ParseArgument(OwnOpText* op) {
  if (op->arguments.size() == kMaxArguments) {
    return Error(absl::StrCat("an op has at most ", kMaxArguments, " operands and attributes"));
  }
  WEFT_ASSIGN_OR_RETURN(const absl::string_view first, Name("an operand, or an attribute's type"));
  std::string type(first);
  if (Take("[")) {
    WEFT_RETURN_IF_ERROR(Expect("]"));
    type += "[]";
  }
  absl::string_view name = first;
  const bool has_type = AtName() || type != first;
  if (has_type) {
    WEFT_ASSIGN_OR_RETURN(name, Name("the name of an attribute"));
  }
  op->arguments.push_back(absl::StrCat(has_type ? type : "Tensor", " ", name));
  WEFT_ASSIGN_OR_RETURN(const OpSchema schema, SchemaOf(*op));
  const int attr = schema.FindAttr(name);
  if (attr < 0 || !Take("=")) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const AttrValue value, LiteralOf(schema.attrs[attr].kind, name));
  absl::StrAppend(&op->arguments.back(), "=", value.ToString());
  const auto with_default = SchemaOf(*op);
  if (with_default.ok() && with_default->attrs[attr].default_value == value) {
    return absl::OkStatus();
  }
  return Error(absl::StrCat("the default of ", name, " cannot be ", value.ToString()));
}

absl::StatusOr<OpSchema> RuleParser::SchemaOf(const OwnOpText& op) const {
  auto schema =
      OpSchema::Parse(absl::StrCat(op.name, "(", absl::StrJoin(op.arguments, ", "), ") -> Tensor"));
  if (!schema.ok()) return Error(schema.status().message());
  if (schema->operands.empty()) return Error("an op takes operands first, then attributes");
  if (schema->has_variadic_operand() || !schema->regions.empty()) {
    return Error("an op of a rule file takes neither lists of tensors nor graphs");
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const OperandSpec& operand : schema->operands) names.insert(operand.name);
  for (const AttrSpec& attr : schema->attrs) names.insert(attr.name);
  if (names.size() == op.arguments.size()) return schema;
  return Error("two arguments have one name");
}

// "DOMAIN::TYPE".
absl::Status RuleParser::ParseOnnxName(RuleFile::OwnOp* op) {
  const size_t begin = Mark();
  WEFT_ASSIGN_OR_RETURN(const std::string text, String());
  const size_t colons = text.find("::");
  OnnxName name;
  if (colons != std::string::npos) name = {text.substr(0, colons), text.substr(colons + 2)};
  const absl::Status status = CheckOnnxName(name);
  if (status.ok() && registry_.FindInOnnx(name.domain, name.type) == nullptr) {
    op->onnx = std::move(name);
    return absl::OkStatus();
  }
  Rewind(begin);
  if (status.ok()) return Error(absl::StrCat("there is an op for ", text, " already"));
  return Error(absl::StrCat("expected \"domain::Type\": ", status.message()));
}

}  // namespace weft
