// Reductions, running sums, softmax.

#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// `op_type` along the node's dims: an attribute before opset 18 (of ReduceSum
// before 13), then an input.
Val Reduce(NodeExport& e, absl::string_view op_type, Val x) {
  // A scalar may be reduced along its dim 0.
  const std::vector<int64_t> dims =
      e.rank() == 0 ? std::vector<int64_t>() : e.Dims("dim", e.rank());
  OnnxAttrs attrs = {{"keepdims", e.Flag("keepdim")}};
  if (dims.empty()) return e.Op(op_type, {x}, attrs);
  if (e.opset() >= 18 || op_type == "ReduceSum") {
    return e.Op(op_type, {x, e.Ints(dims)}, attrs);
  }
  attrs.push_back({"axes", dims});
  return e.Op(op_type, {x}, attrs);
}

absl::Status ExportReduce(NodeExport& e) {
  e.SetOutput(0, Reduce(e, e.op_type(), e.in(0)));
  return absl::OkStatus();
}

// Of no elements: the end of the dtype's own range, not of the wider one that
// the operator takes.
absl::Status ExportExtremum(NodeExport& e) {
  const DType dtype = e.dtype();
  const bool widened =
      !IsFloat(dtype) && (DTypeBits(dtype) < 8 || DTypeBits(dtype) == 16 || dtype == DType::kBool);
  if (!widened) return ExportReduce(e);
  const bool max = e.op_type() == absl::string_view("ReduceMax");
  Val found = Reduce(e, e.op_type(), e.Cast(e.in(0), DType::kI32));
  Val end = e.w().Tensor(HostTensor::ScalarInt(DType::kI32, max ? IntMin(dtype) : IntMax(dtype)));
  found = e.Op(max ? "Max" : "Min", {found, end});
  e.SetOutput(0, e.Cast(found, dtype));
  return absl::OkStatus();
}

// Some are true: their number is above 0. All are: that of the others is 0.
absl::Status ExportAny(NodeExport& e) {
  Val truth = e.Cast(e.Cast(e.in(0), DType::kBool), DType::kI64);
  e.SetOutput(0, e.Op("Greater", {Reduce(e, "ReduceSum", truth), e.IntScalar(0)}));
  return absl::OkStatus();
}

absl::Status ExportAll(NodeExport& e) {
  Val untrue = e.Op("Not", {e.Cast(e.in(0), DType::kBool)});
  Val count = Reduce(e, "ReduceSum", e.Cast(untrue, DType::kI64));
  e.SetOutput(0, e.Op("Equal", {count, e.IntScalar(0)}));
  return absl::OkStatus();
}

absl::Status ExportArg(NodeExport& e) {
  if (e.rank() == 0) return e.Unsupported("has no form for scalars");
  e.SetOutput(0, e.Op(e.op_type(), {e.in(0)},
                      {{"axis", e.Dim("dim", e.rank())},
                       {"keepdims", e.Flag("keepdim")},
                       {"select_last_index", e.Flag("select_last_index")}}));
  return absl::OkStatus();
}

// --- Running sums and products ------------------------------------------------------

absl::Status ExportCumSum(NodeExport& e) {
  if (e.rank() == 0) return e.Unsupported("has no form for scalars");
  e.SetOutput(0, e.Op("CumSum", {e.in(0), e.IntScalar(e.Dim("dim", e.rank()))},
                      {{"exclusive", e.Flag("exclusive")}, {"reverse", e.Flag("reverse")}}));
  return absl::OkStatus();
}

onnx::AttributeProto* AddAttr(onnx::NodeProto* node, const char* name,
                              onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto* attr = node->add_attribute();
  attr->set_name(name);
  attr->set_type(type);
  return attr;
}

// A Scan that carries the product so far.
absl::Status ExportCumProd(NodeExport& e) {
  if (e.rank() == 0) return e.Unsupported("has no form for scalars");
  const int64_t dim = e.Dim("dim", e.rank());
  std::vector<SymInt> rest(e.type().dims().begin(), e.type().dims().end());
  rest.erase(rest.begin() + dim);
  const bool narrow = IsFloat(e.dtype()) && DTypeBits(e.dtype()) < 32;
  const DType dtype = narrow ? DType::kF32 : e.dtype();
  Val x = e.Cast(e.in(0), dtype);
  Val one = e.Full(rest, HostTensor::ScalarInt(dtype, 1));
  onnx::NodeProto* scan = e.w().AddNode("Scan");
  scan->add_input(one->name);
  scan->add_input(x->name);
  AddAttr(scan, "num_scan_inputs", onnx::AttributeProto::INT)->set_i(1);
  for (const char* name : {"scan_input_axes", "scan_output_axes"}) {
    AddAttr(scan, name, onnx::AttributeProto::INTS)->add_ints(dim);
  }
  for (const char* name : {"scan_input_directions", "scan_output_directions"}) {
    AddAttr(scan, name, onnx::AttributeProto::INTS)->add_ints(e.Flag("reverse"));
  }
  onnx::GraphProto* body = AddAttr(scan, "body", onnx::AttributeProto::GRAPH)->mutable_g();
  body->set_name(e.w().model().UniqueName("product"));
  GraphWriter w(&e.w().model(), &e.w(), body);
  const Type slice = Type::Tensor(dtype, rest);
  Val before = w.AddInput(slice, "before");
  Val factor = w.AddInput(slice, "factor");
  Val after = w.Op("Mul", {before, factor});
  Val given = w.Op("Identity", {e.attrs().Bool("exclusive") ? before : after});
  w.AddOutput(slice, after->name);
  w.AddOutput(slice, given->name);
  e.w().AddOutput(scan, dtype);
  e.SetOutput(0, e.Cast(e.w().AddOutput(scan, dtype), e.dtype()));
  return absl::OkStatus();
}

absl::Status ExportSoftmax(NodeExport& e) {
  if (e.rank() == 0) return e.Unsupported("has no form for scalars");
  e.SetOutput(0, e.Op(e.op_type(), {e.in(0)}, {{"axis", e.Dim("dim", e.rank())}}));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> ReduceExports() {
  static const ExportEntry kEntries[] = {
      {&ops::all, ExportAll},
      {&ops::amax, ExportExtremum, "ReduceMax"},
      {&ops::amin, ExportExtremum, "ReduceMin"},
      {&ops::any, ExportAny},
      {&ops::argmax, ExportArg, "ArgMax"},
      {&ops::argmin, ExportArg, "ArgMin"},
      {&ops::cumprod, ExportCumProd},
      {&ops::cumsum, ExportCumSum},
      {&ops::hardmax, ExportSoftmax, "Hardmax"},
      {&ops::log_softmax, ExportSoftmax, "LogSoftmax"},
      {&ops::logsumexp, ExportReduce, "ReduceLogSumExp"},
      {&ops::mean, ExportReduce, "ReduceMean"},
      {&ops::prod, ExportReduce, "ReduceProd"},
      {&ops::reduce_l1, ExportReduce, "ReduceL1"},
      {&ops::reduce_l2, ExportReduce, "ReduceL2"},
      {&ops::reduce_log_sum, ExportReduce, "ReduceLogSum"},
      {&ops::reduce_sum_square, ExportReduce, "ReduceSumSquare"},
      {&ops::softmax, ExportSoftmax, "Softmax"},
      {&ops::sum, ExportReduce, "ReduceSum"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
