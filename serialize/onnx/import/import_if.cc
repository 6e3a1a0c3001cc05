// If. A branch that is known to run is imported in place. Otherwise both become regions of a cond,
// with the outer values that they use as additional operands.
//
// Both branches must then have outputs of the same dtypes and ranks. If they have not, or if one
// cannot be imported, the importer must know which of them runs: from the sizes of inputs with
// given values, which become guards of the module, or from the values themselves.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
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

// --- Conditions of sizes ----------------------------------------------------------------

// The single integer in `v`, if it follows from sizes.
std::optional<SymInt> OneInteger(ModelImporter* importer, Value* v) {
  const auto known = importer->KnownInts(v);
  if (!known || known->size() != 1) return std::nullopt;
  return (*known)[0];
}

using Comparison = SymInt (*)(SymInt a, SymInt b);

Comparison FindComparison(const Node& node) {
  if (node.Is(ops::eq)) return Equal;
  if (node.Is(ops::ne)) return NotEqual;
  if (node.Is(ops::lt)) return Less;
  if (node.Is(ops::le)) return LessEqual;
  if (node.Is(ops::gt)) return Greater;
  if (node.Is(ops::ge)) return GreaterEqual;
  return nullptr;
}

// A bool of one element as a condition on sizes; nullopt if it depends on data, or on a chain of
// more than `depth` bools.
std::optional<SymInt> SizeCondition(ModelImporter* importer, Value* v, int depth) {
  const Type type = v->type();
  if (depth == 0 || !type.is_tensor() || type.dtype() != DType::kBool) return std::nullopt;
  if (const auto known = OneInteger(importer, v)) return known;
  if (v->is_input() || v->node() == nullptr || !type.numel().Is(1)) return std::nullopt;
  const Node& node = *v->node();
  const auto operand = [&](int i) { return SizeCondition(importer, node.operand(i), depth - 1); };
  if (node.Is(ops::reshape)) return operand(0);
  if (node.Is(ops::convert)) {
    const auto number = OneInteger(importer, node.operand(0));
    return number ? std::optional<SymInt>(NotEqual(*number, 0)) : operand(0);
  }
  if (node.Is(ops::logical_not)) {
    const auto a = operand(0);
    return a ? std::optional<SymInt>(Not(*a)) : std::nullopt;
  }
  if (node.Is(ops::logical_and) || node.Is(ops::logical_or)) {
    const auto a = operand(0);
    const auto b = operand(1);
    if (!a || !b) return std::nullopt;
    return node.Is(ops::logical_and) ? And(*a, *b) : Or(*a, *b);
  }
  const Comparison comparison = FindComparison(node);
  if (comparison == nullptr) return std::nullopt;
  const auto a = OneInteger(importer, node.operand(0));
  const auto b = OneInteger(importer, node.operand(1));
  if (!a || !b) return std::nullopt;
  return comparison(*a, *b);
}

std::optional<SymInt> SizeCondition(NodeContext& c) {
  constexpr int kMaxDepth = 16;
  return SizeCondition(c.importer(), c.in(0), kMaxDepth);
}

// --- Choosing ---------------------------------------------------------------------------

absl::Status ImportBranch(NodeContext& c, const ::onnx::GraphProto& graph, bool is_then) {
  auto outputs = c.importer()->ImportInPlace(c.scope(), graph);
  if (!outputs.ok()) return Annotate(outputs.status(), is_then ? "then_branch" : "else_branch");
  c.SetOutputs(*outputs);
  return c.status();
}

// The branch that runs for the given inputs, if they determine it. The module is then valid only
// for inputs that choose this branch.
std::optional<bool> ChooseByInputs(NodeContext& c) {
  if (const auto condition = SizeCondition(c)) {
    ModelImporter* importer = c.importer();
    const auto value =
        Evaluate(*condition, [&](SymInt symbol) { return importer->GivenSize(symbol); });
    if (!value) return std::nullopt;
    const SymInt guard = *value != 0 ? *condition : Not(*condition);
    importer->module().symbols().Assume(guard, c.Describe());
    return *value != 0;
  }
  const auto value = c.importer()->Evaluate(c.in(0), /*specialize=*/true);
  if (!value || value->numel() != 1) return std::nullopt;
  return value->IntAt(0) != 0;
}

// The error for branches whose outputs do not agree.
absl::Status MustKnowBranch(NodeContext& c, const absl::Status& why) {
  const auto condition = SizeCondition(c);
  return absl::UnimplementedError(
      absl::StrCat(why.message(), "; which branch runs must be known",
                   condition ? absl::StrCat(": it is decided by ", condition->ToString(),
                                            "; pass values of the inputs, which have sizes")
                             : ", but data decides it"));
}

// --- Both branches ----------------------------------------------------------------------

// Gives `region`, which has no formal inputs, one input per operand, in that order.
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

// Makes output `i` of a region a scalar.
void MakeScalar(Region* region, size_t i) {
  std::vector<Value*> outputs = region->graph->outputs();
  Builder b(region->graph.get());
  outputs[i] = ops::BuildReshape(b, outputs[i], {});
  region->graph->SetOutputs(outputs);
  region->outputs[i] = outputs[i]->type();
}

// The branches must agree in dtypes and ranks. Exporters confuse [] and [1], which broadcast alike,
// so an output that has both becomes a scalar.
absl::Status MatchBranches(Region* a, Region* b) {
  if (a->outputs.size() != b->outputs.size()) {
    return absl::InvalidArgumentError("the branches have different numbers of outputs");
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
    return absl::UnimplementedError(absl::StrCat(
        "output ", i, " is ", x.ToString(), " in one branch and ", y.ToString(), " in the other"));
  }
  return absl::OkStatus();
}

struct Branches {
  Region then_region, else_region;
};

absl::StatusOr<Branches> ImportBranches(NodeContext& c, const ::onnx::GraphProto& then_graph,
                                        const ::onnx::GraphProto& else_graph) {
  Branches branches;
  auto region = c.importer()->ImportRegion(c.scope(), then_graph, {});
  if (!region.ok()) return Annotate(region.status(), "then_branch");
  branches.then_region = *std::move(region);
  region = c.importer()->ImportRegion(c.scope(), else_graph, {});
  if (!region.ok()) {
    c.importer()->Discard(std::move(branches.then_region));
    return Annotate(region.status(), "else_branch");
  }
  branches.else_region = *std::move(region);
  const absl::Status match = MatchBranches(&branches.then_region, &branches.else_region);
  if (match.ok()) return branches;
  c.importer()->Discard(std::move(branches.then_region));
  c.importer()->Discard(std::move(branches.else_region));
  return absl::IsUnimplemented(match) ? MustKnowBranch(c, match) : match;
}

void MakeCond(NodeContext& c, Branches branches) {
  std::vector<Value*> operands = branches.then_region.captures;
  absl::flat_hash_map<const Value*, bool> taken;
  for (Value* v : operands) taken[v] = true;
  for (Value* v : branches.else_region.captures) {
    if (taken.emplace(v, true).second) operands.push_back(v);
  }
  TakeOperands(operands, &branches.then_region);
  TakeOperands(operands, &branches.else_region);
  operands.insert(operands.begin(), AsScalar(c, c.in(0)));
  std::vector<std::unique_ptr<weft::Graph>> graphs;
  graphs.push_back(std::move(branches.then_region.graph));
  graphs.push_back(std::move(branches.else_region.graph));
  c.SetOutputs(c.b().Ops(ops::cond, operands, {}, std::move(graphs)));
}

absl::Status If(NodeContext& c) {
  const auto* then_graph = c.Graph("then_branch");
  const auto* else_graph = c.Graph("else_branch");
  c.in(0);
  WEFT_RETURN_IF_ERROR(c.status());
  if (c.dtype(0) != DType::kBool) return c.Fail("the condition is not a bool");
  const auto known = OneInteger(c.importer(), c.in(0));
  if (known && known->is_constant()) {
    const bool is_then = !known->Is(0);
    return ImportBranch(c, is_then ? *then_graph : *else_graph, is_then);
  }
  auto branches = ImportBranches(c, *then_graph, *else_graph);
  if (!branches.ok()) {
    const auto is_then = ChooseByInputs(c);
    if (is_then) return ImportBranch(c, *is_then ? *then_graph : *else_graph, *is_then);
    return branches.status();
  }
  MakeCond(c, *std::move(branches));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"If", {1, 11, 13, 16, 19, 21, 23, 24, 25}, If},
};

}  // namespace

absl::Span<const OnnxOp> IfTable() { return kTable; }

}  // namespace weft::onnx_import
