#include "serialize/onnx/export/export_own_op.h"

#include <optional>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/attrs.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "serialize/onnx/export/export_node.h"

namespace weft::onnx_export {
namespace {

absl::StatusOr<OnnxAttr> AttrOf(NodeExport& e, const AttrSpec& attr) {
  const Attrs attrs = e.attrs();
  const std::string& name = attr.name;
  switch (attr.kind) {
    case AttrKind::kBool:
      return OnnxAttr{name, static_cast<int64_t>(attrs.Bool(name))};
    case AttrKind::kFloat:
      return OnnxAttr{name, attrs.Float(name)};
    case AttrKind::kString:
      return OnnxAttr{name, attrs.Str(name)};
    case AttrKind::kFloats:
      return OnnxAttr{name, attrs.Floats(name)};
    case AttrKind::kStrings:
      return OnnxAttr{name, attrs.Strs(name)};
    case AttrKind::kDType:
      return OnnxAttr{name, static_cast<int64_t>(e.w().model().DataType(attrs.Dtype(name)))};
    case AttrKind::kInt:
    case AttrKind::kSymInt: {
      const SymInt value = attrs.Get(name).symints()[0];
      if (value.is_constant()) return OnnxAttr{name, value.value()};
      break;
    }
    case AttrKind::kInts:
    case AttrKind::kSymInts:
      if (auto values = AllConstant(attrs.Get(name).symints())) return OnnxAttr{name, *values};
      break;
  }
  return NodeExport::Unsupported("has an attribute ", name,
                                 " that depends on sizes, which ONNX's attributes cannot");
}

}  // namespace

absl::Status ExportOwnOp(NodeExport& e, const OnnxName& name) {
  OnnxAttrs attrs;
  for (const AttrSpec& attr : e.node().op().schema().attrs) {
    if (!e.attrs().Has(attr.name)) continue;
    WEFT_ASSIGN_OR_RETURN(OnnxAttr written, AttrOf(e, attr));
    attrs.push_back(std::move(written));
  }
  std::vector<DType> dtypes;
  std::vector<bool> wanted;
  for (int i = 0; i < e.node().num_results(); ++i) {
    dtypes.push_back(e.out_type(i).dtype());
    wanted.push_back(e.used(i));
  }
  const std::vector<Val> outputs =
      e.w().OpsAs(name.type, e.ins(), attrs, dtypes, wanted, name.domain);
  for (int i = 0; i < e.node().num_results(); ++i) e.SetOutput(i, outputs[i]);
  return absl::OkStatus();
}

}  // namespace weft::onnx_export
