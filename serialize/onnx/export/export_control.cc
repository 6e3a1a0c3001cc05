// Nested graphs. Those of ONNX see the values around them: captured operands
// are not passed.

#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

onnx::GraphProto* AddGraph(onnx::NodeProto* node, const char* name) {
  onnx::AttributeProto* attr = node->add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::GRAPH);
  return attr->mutable_g();
}

// Null for the first `declared` inputs of a region, then the operands from
// `captured` on, by name.
std::vector<Val> RegionInputs(NodeExport& e, int declared, int captured) {
  std::vector<Val> inputs(declared);
  for (int i = captured; i < e.num_operands(); ++i) inputs.push_back(e.in(i));
  for (Val input : inputs) {
    if (input != nullptr) input->shared = true;
  }
  return inputs;
}

absl::Status CheckTensors(const NodeExport& e) {
  for (int i = 0; i < e.node().num_results(); ++i) {
    if (e.out_type(i).is_tensor()) continue;
    return NodeExport::Unsupported("has no form with symints as results");
  }
  return absl::OkStatus();
}

void SetOutputs(NodeExport& e, onnx::NodeProto* node) {
  for (int i = 0; i < e.node().num_results(); ++i) {
    e.SetOutput(i, e.w().AddOutput(node, e.out_type(i).dtype()));
  }
}

absl::Status ExportCond(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(CheckTensors(e));
  const std::vector<Val> inputs = RegionInputs(e, 0, 1);
  onnx::NodeProto* node = e.w().AddNode("If");
  node->add_input(e.in(0)->name);
  WEFT_RETURN_IF_ERROR(e.Region(0, inputs, AddGraph(node, "then_branch")));
  WEFT_RETURN_IF_ERROR(e.Region(1, inputs, AddGraph(node, "else_branch")));
  SetOutputs(e, node);
  return absl::OkStatus();
}

absl::Status ExportLoop(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(CheckTensors(e));
  const int carried = static_cast<int>(e.Int("num_carried"));
  onnx::NodeProto* node = e.w().AddNode("Loop");
  for (int i = 0; i < 2 + carried; ++i) node->add_input(e.in(i)->name);
  WEFT_RETURN_IF_ERROR(
      e.Region(0, RegionInputs(e, 2 + carried, 2 + carried), AddGraph(node, "body")));
  SetOutputs(e, node);
  return absl::OkStatus();
}

absl::Status ExportScan(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(CheckTensors(e));
  const int passed = static_cast<int>(e.Int("num_carried") + e.Int("num_scanned"));
  onnx::NodeProto* node = e.w().AddNode("Scan");
  for (int i = 0; i < passed; ++i) node->add_input(e.in(i)->name);
  onnx::AttributeProto* attr = node->add_attribute();
  attr->set_name("num_scan_inputs");
  attr->set_type(onnx::AttributeProto::INT);
  attr->set_i(e.Int("num_scanned"));
  WEFT_RETURN_IF_ERROR(e.Region(0, RegionInputs(e, passed, passed), AddGraph(node, "body")));
  SetOutputs(e, node);
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> ControlExports() {
  static const ExportEntry kEntries[] = {
      {&ops::cond, ExportCond},
      {&ops::loop, ExportLoop},
      {&ops::scan, ExportScan},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
