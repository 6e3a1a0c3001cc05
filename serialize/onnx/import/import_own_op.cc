#include "serialize/onnx/import/import_own_op.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "serialize/onnx/import/import_context.h"

namespace weft::onnx_import {
namespace {

// The attribute is present.
AttrValue Read(NodeContext& c, const AttrSpec& attr) {
  const std::string& name = attr.name;
  switch (attr.kind) {
    case AttrKind::kBool:
      return c.Bool(name, false);
    case AttrKind::kInt:
    case AttrKind::kSymInt:
      return c.Int(name, 0);
    case AttrKind::kFloat:
      return c.Float(name, 0);
    case AttrKind::kString:
      return c.Str(name, "");
    case AttrKind::kDType:
      return c.Dtype(name, DType::kF32);
    case AttrKind::kInts:
    case AttrKind::kSymInts:
      return c.Ints(name);
    case AttrKind::kFloats:
      return c.Floats(name);
    case AttrKind::kStrings:
      return c.Strs(name);
  }
  return AttrValue();
}

}  // namespace

absl::Status ImportOwnOp(NodeContext& c, const OpDef& op) {
  const OpSchema& schema = op.schema();
  std::vector<NamedAttr> attrs;
  for (const AttrSpec& attr : schema.attrs) {
    if (c.HasAttr(attr.name)) {
      attrs.push_back({attr.name, Read(c, attr)});
    } else if (!attr.default_value) {
      return c.Fail(absl::StrCat("attribute \"", attr.name, "\" is missing"));
    }
  }
  std::vector<Value*> operands;
  for (int i = 0; i < schema.num_fixed_operands(); ++i) {
    operands.push_back(schema.operands[i].optional ? c.opt(i) : c.in(i));
  }
  for (int i = schema.num_fixed_operands(); i < c.num_inputs(); ++i) {
    if (!schema.has_variadic_operand()) {
      return c.Fail(absl::StrCat(c.InputText(i), " is one too many for op ", op.schema_text()));
    }
    operands.push_back(c.in(i));
  }
  if (!c.ok()) return c.status();
  c.SetOutputs(c.b().Ops(op, operands, attrs));
  return c.status();
}

}  // namespace weft::onnx_import
