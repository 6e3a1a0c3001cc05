// Scan. Its body becomes a region, with the outer values that it uses as additional operands.
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

using Graphs = std::vector<std::unique_ptr<weft::Graph>>;

Graphs OneGraph(std::unique_ptr<weft::Graph> graph) {
  Graphs graphs;
  graphs.push_back(std::move(graph));
  return graphs;
}

// --- Scan ---------------------------------------------------------------------------

Value* Flip(NodeContext& c, Value* v, int64_t dim) { return ops::BuildFlip(c, v, {dim}); }

// One value per scan input or output; zeros if the attribute is absent.
absl::StatusOr<std::vector<int64_t>> PerScan(NodeContext& c, const char* name, size_t n) {
  std::vector<int64_t> values = c.Ints(name);
  if (!c.HasAttr(name)) values.assign(n, 0);
  if (values.size() == n) return values;
  return c.Fail(absl::StrCat("attribute \"", name, "\" has ", values.size(), " values for ", n,
                             " scan inputs or outputs"));
}

struct ScanArgs {
  int64_t num_states = 0;
  int64_t num_scans = 0;
};

absl::StatusOr<ScanArgs> ReadScanArgs(NodeContext& c, int first_input) {
  ScanArgs args;
  args.num_scans = c.RequiredInt("num_scan_inputs");
  args.num_states = c.num_inputs() - first_input - args.num_scans;
  if (args.num_scans < 1 || args.num_states < 0) {
    return c.Fail(absl::StrCat("attribute \"num_scan_inputs\" is ", args.num_scans, " for ",
                               c.num_inputs(), " inputs"));
  }
  return args;
}

Type WithoutDim0(Type type) { return type.WithDims(type.dims().subspan(1)); }

// The scan inputs with the scanned dim first and in scan order.
absl::Status OrientInputs(NodeContext& c, const ScanArgs& args, std::vector<Value*>* operands) {
  WEFT_ASSIGN_OR_RETURN(const auto axes, PerScan(c, "scan_input_axes", args.num_scans));
  WEFT_ASSIGN_OR_RETURN(const auto directions, PerScan(c, "scan_input_directions", args.num_scans));
  for (int64_t i = 0; i < args.num_scans && c.ok(); ++i) {
    Value*& x = (*operands)[args.num_states + i];
    const int rank = x->type().rank();
    WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(axes[i], rank));
    x = Permute(c, x, MoveDim(rank, axis, 0));
    if (directions[i] != 0) x = Flip(c, x, 0);
  }
  return c.status();
}

// The stacked results in the layout and order of the attributes.
absl::Status OrientOutputs(NodeContext& c, const ScanArgs& args, std::vector<Value*>* results) {
  const size_t n = results->size() - args.num_states;
  WEFT_ASSIGN_OR_RETURN(const auto axes, PerScan(c, "scan_output_axes", n));
  WEFT_ASSIGN_OR_RETURN(const auto directions, PerScan(c, "scan_output_directions", n));
  for (size_t i = 0; i < n && c.ok(); ++i) {
    Value*& y = (*results)[args.num_states + i];
    const int rank = y->type().rank();
    WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(axes[i], rank));
    if (directions[i] != 0) y = Flip(c, y, 0);
    y = Permute(c, y, MoveDim(rank, 0, axis));
  }
  return c.status();
}

absl::Status Scan(NodeContext& c) {
  const auto* graph = c.Graph("body");
  WEFT_ASSIGN_OR_RETURN(const ScanArgs args, ReadScanArgs(c, 0));
  std::vector<Value*> operands = c.all_inputs();
  WEFT_RETURN_IF_ERROR(c.status());
  WEFT_RETURN_IF_ERROR(OrientInputs(c, args, &operands));
  std::vector<Type> types;
  for (int64_t i = 0; i < args.num_states + args.num_scans; ++i) {
    const Type type = operands[i]->type();
    types.push_back(i < args.num_states ? type : WithoutDim0(type));
  }
  auto body = c.importer()->ImportRegion(c.scope(), *graph, {types});
  if (!body.ok()) return Annotate(body.status(), "body");
  operands.insert(operands.end(), body->captures.begin(), body->captures.end());
  std::vector<Value*> results = c.b().Ops(
      ops::scan, operands, {{"num_carried", args.num_states}, {"num_scanned", args.num_scans}},
      OneGraph(std::move(body->graph)));
  WEFT_RETURN_IF_ERROR(c.status());
  WEFT_RETURN_IF_ERROR(OrientOutputs(c, args, &results));
  c.SetOutputs(results);
  return c.status();
}

// Input `i` of Scan-8: its dims are the batch, the sequence if it is scanned, and the others.
absl::StatusOr<Value*> BatchedInput(NodeContext& c, int i, bool scanned, bool backward) {
  Value* x = c.in(i);
  WEFT_RETURN_IF_ERROR(c.status());
  if (x->type().rank() < (scanned ? 2 : 1)) {
    return c.Fail(absl::StrCat(c.InputText(i), " has too few dims"));
  }
  if (backward) x = Flip(c, x, 1);
  WEFT_RETURN_IF_ERROR(c.status());
  return x;
}

// Opset 8: every input has a batch dim first. One scan over the batch has a body that scans the
// sequence.
absl::Status Scan8(NodeContext& c) {
  const auto* graph = c.Graph("body");
  WEFT_ASSIGN_OR_RETURN(const ScanArgs args, ReadScanArgs(c, 1));
  if (c.has_input(0)) {
    return c.Unsupported("sequence_lens of Scan in opset 8");
  }
  WEFT_ASSIGN_OR_RETURN(const auto directions, PerScan(c, "directions", args.num_scans));
  std::vector<Value*> operands;
  std::vector<Type> outer_types, inner_types;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const int64_t scan = i - 1 - args.num_states;
    WEFT_ASSIGN_OR_RETURN(Value * x, BatchedInput(c, i, scan >= 0, scan >= 0 && directions[scan]));
    operands.push_back(x);
    outer_types.push_back(WithoutDim0(x->type()));
    inner_types.push_back(scan >= 0 ? WithoutDim0(outer_types.back()) : outer_types.back());
  }
  auto body = c.importer()->ImportRegion(c.scope(), *graph, {inner_types});
  if (!body.ok()) return Annotate(body.status(), "body");
  auto outer = std::make_unique<weft::Graph>(&c.b().module(), "batch");
  std::vector<Value*> inner;
  for (Type type : outer_types) inner.push_back(outer->AddInput(type));
  for (Value* v : body->captures) inner.push_back(outer->AddInput(v->type()));
  operands.insert(operands.end(), body->captures.begin(), body->captures.end());
  Builder b(outer.get());
  outer->SetOutputs(b.Ops(ops::scan, inner,
                          {{"num_carried", args.num_states}, {"num_scanned", args.num_scans}},
                          OneGraph(std::move(body->graph))));
  if (!b.status().ok()) return Annotate(b.status(), "body");
  c.SetOutputs(c.b().Ops(ops::scan, operands,
                         {{"num_carried", 0}, {"num_scanned", args.num_states + args.num_scans}},
                         OneGraph(std::move(outer))));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Scan", {8}, Scan8},
    {"Scan", {9, 11, 16, 19, 21, 23, 24, 25}, Scan},
};

}  // namespace

absl::Span<const OnnxOp> ScanTable() { return kTable; }

}  // namespace weft::onnx_import
