// If, Loop and Scan. Their graphs become regions, which take what they use from
// outside as further operands.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/import_model.h"
#include "serialize/onnx/import_tables.h"
#include "serialize/onnx/import_util.h"

namespace weft::onnx_import {
namespace {

using Graphs = std::vector<std::unique_ptr<weft::Graph>>;

Graphs OneGraph(std::unique_ptr<weft::Graph> graph) {
  Graphs graphs;
  graphs.push_back(std::move(graph));
  return graphs;
}

absl::Status In(absl::string_view what, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(what, ": ", status.message()));
}

// --- If -----------------------------------------------------------------------------

// Gives `region`, which has no formal inputs, one input for each of `operands`,
// in that order.
void TakeOperands(absl::Span<Value* const> operands, Region* region) {
  absl::flat_hash_map<const Value*, int> index;
  for (size_t i = 0; i < region->captures.size(); ++i) {
    index[region->captures[i]] = static_cast<int>(i);
  }
  std::vector<int> order;
  for (Value* operand : operands) {
    auto [it, added] = index.emplace(operand, region->graph->num_inputs());
    if (added) region->graph->AddInput(operand->type(), "unused");
    order.push_back(it->second);
  }
  region->graph->KeepInputs(order);
}

// Output `i` of a region as a scalar.
void MakeScalar(Region* region, size_t i) {
  std::vector<Value*> outputs = region->graph->outputs();
  Builder b(region->graph.get());
  outputs[i] = b.Op(ops::reshape, {outputs[i]},
                    {{"size", std::vector<SymInt>()}});
  region->graph->SetOutputs(outputs);
  region->outputs[i] = outputs[i]->type();
}

// The branches must agree in dtypes and ranks. Exporters are careless with one
// element as [] or [1], which broadcast alike: then it is a scalar.
absl::Status MatchBranches(NodeContext& c, Region* a, Region* b) {
  if (a->outputs.size() != b->outputs.size()) {
    return c.Fail("the branches have different numbers of outputs");
  }
  for (size_t i = 0; i < a->outputs.size(); ++i) {
    const Type x = a->outputs[i];
    const Type y = b->outputs[i];
    if (x.dtype() == y.dtype() && x.rank() == y.rank()) continue;
    if (x.dtype() == y.dtype() && x.numel().Is(1) && y.numel().Is(1)) {
      MakeScalar(a, i);
      MakeScalar(b, i);
      continue;
    }
    return c.Unsupported(absl::StrCat(
        "output ", i, " is ", x.ToString(), " in one branch and ",
        y.ToString(), " in the other; which branch runs must be known"));
  }
  return absl::OkStatus();
}

absl::Status If(NodeContext& c) {
  const auto* then_graph = c.Graph("then_branch");
  const auto* else_graph = c.Graph("else_branch");
  Value* condition = c.in(0);
  if (!c.ok()) return c.status();
  if (c.dtype(0) != DType::kBool) return c.Fail("the condition is not a bool");
  // A known condition: the branch that runs, in place.
  const auto known = c.SymbolicInts(0);
  if (known && known->size() == 1 && (*known)[0].is_constant()) {
    const bool taken = !(*known)[0].Is(0);
    auto outputs = c.importer()->ImportInPlace(
        c.scope(), taken ? *then_graph : *else_graph);
    if (!outputs.ok()) {
      return In(taken ? "then_branch" : "else_branch", outputs.status());
    }
    c.SetOutputs(*outputs);
    return c.status();
  }
  auto then_region = c.importer()->ImportRegion(c.scope(), *then_graph, {});
  if (!then_region.ok()) return In("then_branch", then_region.status());
  auto else_region = c.importer()->ImportRegion(c.scope(), *else_graph, {});
  if (!else_region.ok()) return In("else_branch", else_region.status());
  WEFT_RETURN_IF_ERROR(MatchBranches(c, &*then_region, &*else_region));

  std::vector<Value*> operands = then_region->captures;
  absl::flat_hash_map<const Value*, bool> taken;
  for (Value* v : operands) taken[v] = true;
  for (Value* v : else_region->captures) {
    if (taken.emplace(v, true).second) operands.push_back(v);
  }
  TakeOperands(operands, &*then_region);
  TakeOperands(operands, &*else_region);
  operands.insert(operands.begin(), AsScalar(c, condition));
  Graphs graphs = OneGraph(std::move(then_region->graph));
  graphs.push_back(std::move(else_region->graph));
  c.SetOutputs(c.b().Ops(ops::cond, operands, {}, std::move(graphs)));
  return c.status();
}

// --- Loop ---------------------------------------------------------------------------

// Puts a fresh symbol in every dim of the carried inputs that an iteration
// changes; returns whether there was one to put.
absl::StatusOr<bool> Widen(NodeContext& c, const Region& body,
                           std::vector<Type>* carried,
                           absl::flat_hash_map<SymInt, bool>* varying) {
  bool widened = false;
  for (size_t i = 0; i < carried->size(); ++i) {
    const Type before = (*carried)[i];
    const Type after = body.outputs[i + 1];
    if (before.dtype() != after.dtype() || before.rank() != after.rank()) {
      return c.Unsupported(absl::StrCat(
          "carried value ", i, " is ", before.ToString(),
          " before an iteration and ", after.ToString(), " after it"));
    }
    std::vector<SymInt> dims(before.dims().begin(), before.dims().end());
    for (int d = 0; d < before.rank(); ++d) {
      if (dims[d] == after.dim(d) || varying->contains(dims[d])) continue;
      SymbolInfo info;
      info.unbacked = true;
      dims[d] = c.b().module().symbols().Fresh("u", info);
      (*varying)[dims[d]] = true;
      widened = true;
    }
    (*carried)[i] = before.WithDims(dims);
  }
  return widened;
}

// The body with carried inputs of types that hold before every iteration.
absl::StatusOr<Region> LoopBody(NodeContext& c,
                                const ::onnx::GraphProto& graph,
                                std::vector<Type> carried) {
  absl::flat_hash_map<SymInt, bool> varying;
  while (true) {
    std::vector<Type> inputs = {Type::Scalar(DType::kI64),
                                Type::Scalar(DType::kBool)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    auto body = c.importer()->ImportRegion(c.scope(), graph, inputs);
    if (!body.ok()) return In("body", body.status());
    if (body->outputs.size() < carried.size() + 1) {
      return c.Fail(absl::StrCat("the body has ", body->outputs.size(),
                                 " outputs for a condition and ",
                                 carried.size(), " carried values"));
    }
    WEFT_ASSIGN_OR_RETURN(const bool widened,
                          Widen(c, *body, &carried, &varying));
    if (!widened) return body;
    c.importer()->Discard(*std::move(body));
  }
}

absl::Status Loop(NodeContext& c) {
  const auto* graph = c.Graph("body");
  if (!c.ok()) return c.status();
  Value* trips = c.opt(0);
  Value* condition = c.opt(1);
  trips = trips != nullptr
              ? AsScalar(c, trips)
              : c.b().Constant(HostTensor::ScalarInt(
                    DType::kI64, std::numeric_limits<int64_t>::max()));
  condition = condition != nullptr ? AsScalar(c, condition)
                                   : ScalarOf(c, DType::kBool, 1);
  std::vector<Value*> operands = {trips, condition};
  std::vector<Type> types;
  for (int i = 2; i < c.num_inputs(); ++i) {
    operands.push_back(c.in(i));
    types.push_back(c.type(i));
  }
  if (!c.ok()) return c.status();
  const auto num_carried = static_cast<int64_t>(types.size());
  WEFT_ASSIGN_OR_RETURN(Region body, LoopBody(c, *graph, std::move(types)));
  // A condition of one element, as a scalar.
  std::vector<Value*> outputs = body.graph->outputs();
  Builder b(body.graph.get());
  outputs[0] = b.Op(ops::reshape, {outputs[0]},
                    {{"size", std::vector<SymInt>()}});
  if (!b.status().ok()) return In("body", b.status());
  body.graph->SetOutputs(outputs);
  operands.insert(operands.end(), body.captures.begin(), body.captures.end());
  c.SetOutputs(c.b().Ops(ops::loop, operands, {{"num_carried", num_carried}},
                         OneGraph(std::move(body.graph))));
  return c.status();
}

// --- Scan ---------------------------------------------------------------------------

Value* Flip(NodeContext& c, Value* v, int64_t dim) {
  return c.Op(ops::flip, {v}, {{"dims", std::vector<int64_t>{dim}}});
}

// One value for each scan input or output; absent means zeros.
absl::StatusOr<std::vector<int64_t>> PerScan(NodeContext& c, const char* name,
                                             size_t n) {
  std::vector<int64_t> values = c.Ints(name);
  if (!c.HasAttr(name)) values.assign(n, 0);
  if (values.size() == n) return values;
  return c.Fail(absl::StrCat("attribute \"", name, "\" has ", values.size(),
                             " values for ", n, " scan inputs or outputs"));
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
    return c.Fail(absl::StrCat("attribute \"num_scan_inputs\" is ",
                               args.num_scans, " for ", c.num_inputs(),
                               " inputs"));
  }
  return args;
}

Type WithoutDim0(Type type) { return type.WithDims(type.dims().subspan(1)); }

// The scan inputs, each with the scanned dim in front and in the right order.
absl::Status OrientInputs(NodeContext& c, const ScanArgs& args,
                          std::vector<Value*>* operands) {
  WEFT_ASSIGN_OR_RETURN(const auto axes,
                        PerScan(c, "scan_input_axes", args.num_scans));
  WEFT_ASSIGN_OR_RETURN(const auto directions,
                        PerScan(c, "scan_input_directions", args.num_scans));
  for (int64_t i = 0; i < args.num_scans && c.ok(); ++i) {
    Value*& x = (*operands)[args.num_states + i];
    const int rank = x->type().rank();
    WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(axes[i], rank));
    x = Permute(c, x, MoveDim(rank, axis, 0));
    if (directions[i] != 0) x = Flip(c, x, 0);
  }
  return c.status();
}

// The stacked results, as the attributes ask for them.
absl::Status OrientOutputs(NodeContext& c, const ScanArgs& args,
                           std::vector<Value*>* results) {
  const size_t n = results->size() - args.num_states;
  WEFT_ASSIGN_OR_RETURN(const auto axes, PerScan(c, "scan_output_axes", n));
  WEFT_ASSIGN_OR_RETURN(const auto directions,
                        PerScan(c, "scan_output_directions", n));
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
  if (!c.ok()) return c.status();
  WEFT_RETURN_IF_ERROR(OrientInputs(c, args, &operands));
  std::vector<Type> types;
  for (int64_t i = 0; i < args.num_states + args.num_scans; ++i) {
    const Type type = operands[i]->type();
    types.push_back(i < args.num_states ? type : WithoutDim0(type));
  }
  auto body = c.importer()->ImportRegion(c.scope(), *graph, types);
  if (!body.ok()) return In("body", body.status());
  operands.insert(operands.end(), body->captures.begin(),
                  body->captures.end());
  std::vector<Value*> results =
      c.b().Ops(ops::scan, operands,
                {{"num_carried", args.num_states},
                 {"num_scanned", args.num_scans}},
                OneGraph(std::move(body->graph)));
  if (!c.ok()) return c.status();
  WEFT_RETURN_IF_ERROR(OrientOutputs(c, args, &results));
  c.SetOutputs(results);
  return c.status();
}

// Input `i` of Scan-8, whose dims are a batch, the sequence if it is scanned, and
// the rest.
absl::StatusOr<Value*> BatchedInput(NodeContext& c, int i, bool scanned,
                                    bool backward) {
  Value* x = c.in(i);
  if (!c.ok()) return c.status();
  if (x->type().rank() < (scanned ? 2 : 1)) {
    return c.Fail(absl::StrCat(c.InputText(i), " has too few dims"));
  }
  if (backward) x = Flip(c, x, 1);
  if (!c.ok()) return c.status();
  return x;
}

// Opset 8: everything has a batch in front. One scan over the batch, whose body
// scans the sequence.
absl::Status Scan8(NodeContext& c) {
  const auto* graph = c.Graph("body");
  WEFT_ASSIGN_OR_RETURN(const ScanArgs args, ReadScanArgs(c, 1));
  if (c.has_input(0)) {
    return c.Unsupported("sequence_lens of Scan in opset 8");
  }
  WEFT_ASSIGN_OR_RETURN(const auto directions,
                        PerScan(c, "directions", args.num_scans));
  std::vector<Value*> operands;
  std::vector<Type> outer_types, inner_types;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const int64_t scan = i - 1 - args.num_states;
    WEFT_ASSIGN_OR_RETURN(
        Value * x, BatchedInput(c, i, scan >= 0, scan >= 0 && directions[scan]));
    operands.push_back(x);
    outer_types.push_back(WithoutDim0(x->type()));
    inner_types.push_back(scan >= 0 ? WithoutDim0(outer_types.back())
                                    : outer_types.back());
  }
  auto body = c.importer()->ImportRegion(c.scope(), *graph, inner_types);
  if (!body.ok()) return In("body", body.status());
  auto outer = std::make_unique<weft::Graph>(&c.b().module(), "batch");
  std::vector<Value*> inner;
  for (Type type : outer_types) inner.push_back(outer->AddInput(type));
  for (Value* v : body->captures) inner.push_back(outer->AddInput(v->type()));
  operands.insert(operands.end(), body->captures.begin(),
                  body->captures.end());
  Builder b(outer.get());
  outer->SetOutputs(b.Ops(ops::scan, inner,
                          {{"num_carried", args.num_states},
                           {"num_scanned", args.num_scans}},
                          OneGraph(std::move(body->graph))));
  if (!b.status().ok()) return In("body", b.status());
  c.SetOutputs(c.b().Ops(
      ops::scan, operands,
      {{"num_carried", 0},
       {"num_scanned", args.num_states + args.num_scans}},
      OneGraph(std::move(outer))));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"If", {1, 11, 13, 16, 19, 21, 23, 24, 25}, If},
    {"Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, Loop},
    {"Scan", {8}, Scan8},
    {"Scan", {9, 11, 16, 19, 21, 23, 24, 25}, Scan},
};

}  // namespace

absl::Span<const OnnxOp> ControlTable() { return kTable; }

}  // namespace weft::onnx_import
