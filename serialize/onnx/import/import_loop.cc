// Loop. Its body becomes a region of a loop, with the outer values that it uses as additional
// operands.
//
// Sizes that an iteration changes become fresh symbols in the region. Otherwise a carried value of
// a loop has one type, so iterations that change a dtype or rank are taken out of the loop and
// imported in place, one after the other; each must be known to run.
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// Limit of iterations that are imported in place.
constexpr int kMaxPeeled = 64;

// A Loop node during its import.
struct LoopState {
  const ::onnx::GraphProto* body = nullptr;
  Value* trips = nullptr;      // Trip count of the whole loop.
  Value* condition = nullptr;  // Condition of the next iteration.
  std::vector<Value*> carried;
  int peeled = 0;                         // Iterations done in place.
  std::vector<std::vector<Value*>> kept;  // Results of iterations in place, by output.
};

// The number of iterations that the trip count allows, if it follows from sizes.
SymInt KnownTrips(NodeContext& c, const LoopState& loop) {
  const auto known = c.importer()->KnownInts(loop.trips);
  return known ? (*known)[0] : SymInt::Invalid();
}

// --- Types ------------------------------------------------------------------------------

Value* WithDims(Builder* b, Value* v, Type like) { return ops::BuildReshape(*b, v, like.dims()); }

// Gives outputs of one element the rank of the carried input, because exporters confuse [] and [1].
absl::Status MatchScalars(absl::Span<const Type> carried, Region* body) {
  std::vector<Value*> outputs = body->graph->outputs();
  Builder b(body->graph.get());
  for (size_t i = 0; i < carried.size(); ++i) {
    const Type before = carried[i];
    const Type after = body->outputs[i + 1];
    if (before.rank() == after.rank() || !before.numel().Is(1) || !after.numel().Is(1)) continue;
    outputs[i + 1] = WithDims(&b, outputs[i + 1], before);
    WEFT_RETURN_IF_ERROR(b.status());
    body->outputs[i + 1] = outputs[i + 1]->type();
  }
  body->graph->SetOutputs(outputs);
  return absl::OkStatus();
}

// Describes the first carried value whose dtype or rank an iteration changes; "" if there is none.
std::string ChangedType(absl::Span<const Type> carried, const Region& body) {
  for (size_t i = 0; i < carried.size(); ++i) {
    const Type before = carried[i];
    const Type after = body.outputs[i + 1];
    if (before.dtype() == after.dtype() && before.rank() == after.rank()) continue;
    return absl::StrCat("carried value ", i, " is ", before.ToString(), " before an iteration and ",
                        after.ToString(), " after it");
  }
  return "";
}

// Replaces every dim of the carried inputs that an iteration changes by a fresh symbol; returns
// false if there is none to replace.
bool Widen(NodeContext& c, const Region& body, std::vector<Type>* carried,
           absl::flat_hash_map<SymInt, bool>* varying) {
  bool widened = false;
  for (size_t i = 0; i < carried->size(); ++i) {
    const Type before = (*carried)[i];
    const Type after = body.outputs[i + 1];
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

struct LoopBody {
  Region region;
  std::string changed;  // Not empty if the region cannot be a loop's body: see ChangedType.
};

// The body, with types of carried inputs that hold before every iteration from the next on.
absl::StatusOr<LoopBody> ImportLoopBody(NodeContext& c, const LoopState& loop) {
  std::vector<Type> carried;
  for (Value* v : loop.carried) carried.push_back(v->type());
  absl::flat_hash_map<SymInt, bool> varying;
  while (true) {
    std::vector<Type> inputs = {Type::Scalar(DType::kI64), Type::Scalar(DType::kBool)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    RegionInputs formals;
    formals.types = inputs;
    formals.first_iteration = loop.peeled;
    formals.iterations = KnownTrips(c, loop);
    formals.iterates = true;
    auto region = c.importer()->ImportRegion(c.scope(), *loop.body, formals);
    if (!region.ok()) return Annotate(region.status(), "body");
    if (region->outputs.size() < carried.size() + 1) {
      return c.Fail(absl::StrCat("the body has ", region->outputs.size(),
                                 " outputs for a condition and ", carried.size(),
                                 " carried values"));
    }
    WEFT_RETURN_IF_ERROR(MatchScalars(carried, &*region));
    LoopBody body;
    body.changed = ChangedType(carried, *region);
    if (body.changed.empty() && !Widen(c, *region, &carried, &varying)) {
      body.region = *std::move(region);
      return body;
    }
    c.importer()->Discard(*std::move(region));
    if (!body.changed.empty()) return body;
  }
}

// --- Iterations in place ----------------------------------------------------------------

// True if another iteration certainly runs. A number of iterations that follows from sizes of
// inputs is guarded to be large enough.
bool SurelyRuns(NodeContext& c, const LoopState& loop) {
  const auto condition = c.importer()->KnownInts(loop.condition);
  if (!condition || !(*condition)[0].Is(1)) return false;
  const SymInt trips = KnownTrips(c, loop);
  if (!trips.is_valid()) return false;
  SymbolTable& symbols = c.b().module().symbols();
  bool on_data = false;
  ForEachSymbol(trips, [&](SymInt s) { on_data = on_data || symbols.IsUnbacked(s); });
  const SymInt runs = Less(SymInt(loop.peeled), trips);
  if (on_data) return symbols.Prove(runs) == Proof::kYes;
  return symbols.Assume(runs, c.Describe()) != Proof::kNo;
}

// Imports the next iteration in place.
absl::Status Peel(NodeContext& c, LoopState* loop) {
  std::vector<Value*> inputs = {c.b().Constant(HostTensor::ScalarInt(DType::kI64, loop->peeled)),
                                loop->condition};
  inputs.insert(inputs.end(), loop->carried.begin(), loop->carried.end());
  auto outputs = c.importer()->ImportInPlace(c.scope(), *loop->body, inputs);
  if (!outputs.ok()) return Annotate(outputs.status(), "body");
  const size_t num_carried = loop->carried.size();
  loop->condition = AsScalar(c, (*outputs)[0]);
  loop->carried.assign(outputs->begin() + 1, outputs->begin() + 1 + num_carried);
  loop->kept.resize(outputs->size() - 1 - num_carried);
  for (size_t i = 0; i < loop->kept.size(); ++i) {
    loop->kept[i].push_back((*outputs)[1 + num_carried + i]);
  }
  ++loop->peeled;
  return c.status();
}

// Output `i`: results of iterations in place, stacked, followed by `rest`, those of the loop.
Value* Stack(NodeContext& c, const LoopState& loop, size_t i, Value* rest) {
  std::vector<Value*> parts;
  if (i < loop.kept.size()) {
    for (Value* v : loop.kept[i]) parts.push_back(Unsqueeze(c, v, {0}));
  }
  if (rest != nullptr) parts.push_back(rest);
  return parts.size() == 1 ? parts[0] : ops::BuildCat(c.b(), parts, 0);
}

// --- The loop ---------------------------------------------------------------------------

// The results if all iterations were done in place.
absl::Status FinishInPlace(NodeContext& c, const LoopState& loop) {
  std::vector<Value*> results = loop.carried;
  for (size_t i = 0; i < loop.kept.size(); ++i) results.push_back(Stack(c, loop, i, nullptr));
  c.SetOutputs(results);
  return c.status();
}

absl::Status MakeLoop(NodeContext& c, const LoopState& loop, Region body) {
  // Makes a condition of one element a scalar.
  std::vector<Value*> outputs = body.graph->outputs();
  Builder b(body.graph.get());
  outputs[0] = ops::BuildReshape(b, outputs[0], {});
  if (!b.status().ok()) return Annotate(b.status(), "body");
  body.graph->SetOutputs(outputs);
  Value* trips = loop.peeled == 0 ? loop.trips : WithScalar(c, ops::sub, loop.trips, loop.peeled);
  std::vector<Value*> operands = {trips, loop.condition};
  operands.insert(operands.end(), loop.carried.begin(), loop.carried.end());
  operands.insert(operands.end(), body.captures.begin(), body.captures.end());
  const size_t num_carried = loop.carried.size();
  std::vector<std::unique_ptr<weft::Graph>> graphs;
  graphs.push_back(std::move(body.graph));
  std::vector<Value*> results = c.b().Ops(
      ops::loop, operands, {{"num_carried", static_cast<int64_t>(num_carried)}}, std::move(graphs));
  WEFT_RETURN_IF_ERROR(c.status());
  for (size_t i = num_carried; i < results.size(); ++i) {
    results[i] = Stack(c, loop, i - num_carried, results[i]);
  }
  c.SetOutputs(results);
  return c.status();
}

absl::StatusOr<LoopState> ReadLoop(NodeContext& c) {
  LoopState loop;
  loop.body = c.Graph("body");
  WEFT_RETURN_IF_ERROR(c.status());
  loop.trips =
      c.opt(0) != nullptr
          ? AsScalar(c, c.opt(0))
          : c.b().Constant(HostTensor::ScalarInt(DType::kI64, std::numeric_limits<int64_t>::max()));
  loop.condition = c.opt(1) != nullptr ? AsScalar(c, c.opt(1)) : ScalarOf(c, DType::kBool, 1);
  for (int i = 2; i < c.num_inputs(); ++i) loop.carried.push_back(c.in(i));
  WEFT_RETURN_IF_ERROR(c.status());
  return loop;
}

absl::Status Loop(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(LoopState loop, ReadLoop(c));
  while (true) {
    if (loop.peeled > 0 && KnownTrips(c, loop).Is(loop.peeled)) return FinishInPlace(c, loop);
    WEFT_ASSIGN_OR_RETURN(LoopBody body, ImportLoopBody(c, loop));
    if (body.changed.empty()) return MakeLoop(c, loop, std::move(body.region));
    if (loop.peeled == kMaxPeeled || !SurelyRuns(c, loop)) {
      return c.Unsupported(absl::StrCat(
          body.changed, loop.peeled == kMaxPeeled
                            ? absl::StrCat("; at most ", kMaxPeeled, " iterations may do so")
                            : "; such an iteration must be known to run"));
    }
    WEFT_RETURN_IF_ERROR(Peel(c, &loop));
  }
}

constexpr OnnxOp kTable[] = {
    {"Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, Loop},
};

}  // namespace

absl::Span<const OnnxOp> LoopTable() { return kTable; }

}  // namespace weft::onnx_import
