// Higher-order operators: cond, while_loop, scan, map, vmap, and wrappers, whose graphs are
// inlined.
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/build.h"
#include "serialize/pt2/program_importer.h"

namespace weft::pt2 {
namespace {

using Kind = Arg::Kind;

Type TensorType(const Value* v) { return v->type(); }

Type WithoutDim0(Type type) { return type.WithDims(type.dims().subspan(1)); }

absl::Status BadArguments() {
  return absl::InvalidArgumentError("its arguments are not those of the operator");
}

std::vector<std::unique_ptr<Graph>> OneGraph(std::unique_ptr<Graph> graph) {
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(std::move(graph));
  return graphs;
}

std::vector<Arg> TensorArgs(const std::vector<Value*>& values) {
  std::vector<Arg> args;
  for (Value* v : values) args.push_back(Arg::Tensor(v));
  return args;
}

}  // namespace

absl::StatusOr<std::vector<Value*>> ProgramImporter::TensorsOf(Scope* scope, const Args& args) {
  static const AtenSchema& none = *new AtenSchema;
  AtenCall call(none, {}, scope->builder);
  std::vector<Value*> values;
  for (const Arg& arg : args) {
    if (arg.is(Kind::kTensor) && arg.value != nullptr) {
      values.push_back(arg.value);
      continue;
    }
    if (!arg.is_number()) {
      return absl::UnimplementedError("a value is neither tensor nor number");
    }
    const bool truth = arg.is(Kind::kBool) || arg.is(Kind::kRelation) || arg.is(Kind::kBoolValue);
    values.push_back(call.As(arg, arg.is(Kind::kInt) ? DType::kI64
                                  : truth            ? DType::kBool
                                                     : DType::kF64));
  }
  WEFT_RETURN_IF_ERROR(scope->builder->status());
  return values;
}

absl::StatusOr<ProgramImporter::Args> ProgramImporter::Inline(Scope* scope, const GraphDef& graph,
                                                              Args inputs,
                                                              std::optional<DType> autocast) {
  if (inputs.size() != graph.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a nested graph takes ", graph.inputs.size(), " inputs, got ", inputs.size()));
  }
  Scope inner(&graph, scope->builder, scope->random);
  inner.autocast = autocast;
  inner.nested = scope->nested;
  inner.prefix = scope->prefix;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (graph.inputs[i].name.empty()) continue;
    inner.names[graph.inputs[i].name] = std::move(inputs[i]);
  }
  WEFT_RETURN_IF_ERROR(ImportBody(&inner));
  return ResolveAll(&inner, graph.outputs);
}

absl::StatusOr<std::unique_ptr<Graph>> ProgramImporter::Region(Scope* scope, const GraphDef& graph,
                                                               const Args& inputs,
                                                               absl::Span<const Type> types,
                                                               StatePlace state) {
  auto region = std::make_unique<Graph>(module_.get(), "body");
  Builder builder(region.get(), nullptr, BuilderOptions());
  Value* random = nullptr;
  Scope inner(&graph, &builder, &random, *scope);
  Args known = inputs;
  size_t next = 0;
  const auto add_state = [&] {
    if (region->num_inputs() == state.input) random = region->AddInput(StateType(), kStateName);
  };
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i].is(Kind::kTensor)) continue;
    add_state();
    const std::string name = i < graph.inputs.size() ? graph.inputs[i].name : "";
    known[i].value = region->AddInput(types[next++], name);
  }
  add_state();
  WEFT_ASSIGN_OR_RETURN(Args outputs, Inline(&inner, graph, std::move(known), scope->autocast));
  WEFT_ASSIGN_OR_RETURN(auto values, TensorsOf(&inner, outputs));
  if (state.input >= 0) {
    if (static_cast<int>(values.size()) < state.output) return BadArguments();
    values.insert(values.begin() + state.output, NextState(&builder, random));
    WEFT_RETURN_IF_ERROR(builder.status());
  }
  region->SetOutputs(values);
  return region;
}

absl::Status ProgramImporter::ImportCond(Scope* scope, const NodeDef& node, const Args& args) {
  if (args.size() != 4 || args[1].graph == nullptr || args[2].graph == nullptr ||
      !args[3].is(Kind::kList)) {
    return BadArguments();
  }
  WEFT_ASSIGN_OR_RETURN(auto predicate, TensorsOf(scope, {args[0]}));
  static const AtenSchema& none = *new AtenSchema;
  AtenCall call(none, {}, scope->builder);
  std::vector<Value*> operands = {Convert(call, Reshape(call, predicate[0], {}), DType::kBool)};
  std::vector<Type> types;
  for (const Arg& arg : args[3].items) {
    if (!arg.is(Kind::kTensor)) continue;
    operands.push_back(arg.value);
    types.push_back(TensorType(arg.value));
  }
  Value* state = StateFor(scope, DrawsNumbers(*args[1].graph) || DrawsNumbers(*args[2].graph));
  StatePlace place;
  if (state != nullptr) {
    place = {static_cast<int>(types.size()), 0};
    operands.push_back(state);
  }
  Regions regions;
  for (int i : {1, 2}) {
    WEFT_ASSIGN_OR_RETURN(auto region, Region(scope, *args[i].graph, args[3].items, types, place));
    regions.push_back(std::move(region));
  }
  std::vector<Value*> results = scope->builder->Ops(ops::cond, operands, {}, std::move(regions));
  TakeState(scope, place, &results);
  return SetResults(scope, node, TensorArgs(results));
}

// The condition is computed before the loop and at the end of its body.
absl::Status ProgramImporter::ImportWhile(Scope* scope, const NodeDef& node, const Args& args) {
  if (args.size() != 4 || args[0].graph == nullptr || args[1].graph == nullptr) {
    return BadArguments();
  }
  const GraphDef& condition = *args[0].graph;
  WEFT_ASSIGN_OR_RETURN(const auto carried, TensorsOf(scope, args[2].items));
  Args inputs = TensorArgs(carried);
  inputs.insert(inputs.end(), args[3].items.begin(), args[3].items.end());
  WEFT_ASSIGN_OR_RETURN(const Args first, Inline(scope, condition, inputs, scope->autocast));
  WEFT_ASSIGN_OR_RETURN(const auto go, TensorsOf(scope, first));
  if (go.size() != 1) return BadArguments();

  static const AtenSchema& none = *new AtenSchema;
  AtenCall call(none, {}, scope->builder);
  std::vector<Value*> operands = {scope->builder->Constant(HostTensor::ScalarInt(
                                      DType::kI64, std::numeric_limits<int64_t>::max())),
                                  Convert(call, Reshape(call, go[0], {}), DType::kBool)};
  auto body = std::make_unique<Graph>(module_.get(), "body");
  body->AddInput(Type::Scalar(DType::kI64), "iteration");
  body->AddInput(Type::Scalar(DType::kBool), "condition");
  Builder builder(body.get(), nullptr, BuilderOptions());
  Value* random = nullptr;
  Scope inner(&condition, &builder, &random, *scope);
  Value* state = StateFor(scope, DrawsNumbers(condition) || DrawsNumbers(*args[1].graph));
  int num_carried = static_cast<int>(carried.size());
  StatePlace place;
  if (state != nullptr) place = {num_carried, num_carried};
  const auto add_state = [&] {
    if (body->num_inputs() != 2 + place.input) return;
    operands.push_back(state);
    random = body->AddInput(StateType(), kStateName);
    ++num_carried;
  };
  Args known = inputs;
  for (Arg& arg : known) {
    if (!arg.is(Kind::kTensor)) continue;
    add_state();
    operands.push_back(arg.value);
    arg.value = body->AddInput(arg.value->type());
  }
  add_state();
  WEFT_ASSIGN_OR_RETURN(Args after, Inline(&inner, *args[1].graph, known, scope->autocast));
  WEFT_ASSIGN_OR_RETURN(auto next, TensorsOf(&inner, after));
  if (next.size() != carried.size()) return BadArguments();
  for (size_t i = 0; i < next.size(); ++i) known[i] = Arg::Tensor(next[i]);
  WEFT_ASSIGN_OR_RETURN(const Args again, Inline(&inner, condition, known, scope->autocast));
  WEFT_ASSIGN_OR_RETURN(auto go_on, TensorsOf(&inner, again));
  if (go_on.size() != 1) return BadArguments();
  AtenCall inside(none, {}, &builder);
  if (state != nullptr) next.push_back(NextState(&builder, random));
  next.insert(next.begin(), Convert(inside, Reshape(inside, go_on[0], {}), DType::kBool));
  WEFT_RETURN_IF_ERROR(builder.status());
  body->SetOutputs(next);
  const NamedAttr attrs[] = {{"num_carried", num_carried}};
  std::vector<Value*> results =
      scope->builder->Ops(ops::loop, operands, attrs, OneGraph(std::move(body)));
  TakeState(scope, place, &results);
  return SetResults(scope, node, TensorArgs(results));
}

absl::Status ProgramImporter::ImportScan(Scope* scope, const NodeDef& node, const Args& args) {
  if (args.size() != 4 || args[0].graph == nullptr) return BadArguments();
  WEFT_ASSIGN_OR_RETURN(const auto init, TensorsOf(scope, args[1].items));
  WEFT_ASSIGN_OR_RETURN(const auto xs, TensorsOf(scope, args[2].items));
  std::vector<Value*> operands = init;
  std::vector<Type> types;
  for (Value* v : init) types.push_back(v->type());
  StatePlace place;
  if (Value* state = StateFor(scope, DrawsNumbers(*args[0].graph))) {
    place.input = place.output = static_cast<int>(operands.size());
    operands.push_back(state);
  }
  const int64_t num_carried = static_cast<int64_t>(operands.size());
  for (Value* v : xs) {
    if (v->type().rank() == 0) return BadArguments();
    operands.push_back(v);
    types.push_back(WithoutDim0(v->type()));
  }
  Args inputs = TensorArgs(init);
  for (Value* v : xs) inputs.push_back(Arg::Tensor(v));
  for (const Arg& arg : args[3].items) {
    inputs.push_back(arg);
    if (!arg.is(Kind::kTensor)) continue;
    operands.push_back(arg.value);
    types.push_back(arg.value->type());
  }
  WEFT_ASSIGN_OR_RETURN(auto body, Region(scope, *args[0].graph, inputs, types, place));
  const NamedAttr attrs[] = {{"num_carried", num_carried},
                             {"num_scanned", static_cast<int64_t>(xs.size())}};
  std::vector<Value*> results =
      scope->builder->Ops(ops::scan, operands, attrs, OneGraph(std::move(body)));
  TakeState(scope, place, &results);
  return SetResults(scope, node, TensorArgs(results));
}

// map is a scan without carried values.
absl::Status ProgramImporter::ImportMap(Scope* scope, const NodeDef& node, const Args& args) {
  if (args.size() != 3) return BadArguments();
  return ImportScan(scope, node, {args[0], Arg::List({}), args[1], args[2]});
}

// Arguments: the graph, the mapped tensors, their mapped dims, outer tensors, and the dims along
// which results are stacked.
absl::Status ProgramImporter::ImportVmap(Scope* scope, const NodeDef& node, const Args& args) {
  if (args.size() != 5 || args[0].graph == nullptr) return BadArguments();
  static const AtenSchema& none = *new AtenSchema;
  AtenCall call(none, {}, scope->builder);
  WEFT_ASSIGN_OR_RETURN(auto mapped, TensorsOf(scope, args[1].items));
  std::vector<Type> types;
  for (size_t i = 0; i < mapped.size(); ++i) {
    const int rank = RankOf(mapped[i]);
    const SymInt dim = args[2].items[i].integer;
    if (rank == 0 || !dim.is_constant()) return BadArguments();
    const int from = call.WrapDim(dim.value(), rank);
    mapped[i] = Permute(call, mapped[i], MoveDim(rank, from, 0));
    WEFT_RETURN_IF_ERROR(call.status());
    types.push_back(WithoutDim0(mapped[i]->type()));
  }
  std::vector<Value*> operands;
  StatePlace place;
  if (Value* state = StateFor(scope, DrawsNumbers(*args[0].graph))) {
    place = {0, 0};
    operands.push_back(state);
  }
  const int64_t num_carried = static_cast<int64_t>(operands.size());
  operands.insert(operands.end(), mapped.begin(), mapped.end());
  Args inputs = TensorArgs(mapped);
  for (const Arg& arg : args[3].items) {
    inputs.push_back(arg);
    if (!arg.is(Kind::kTensor)) continue;
    operands.push_back(arg.value);
    types.push_back(arg.value->type());
  }
  WEFT_ASSIGN_OR_RETURN(auto body, Region(scope, *args[0].graph, inputs, types, place));
  const NamedAttr attrs[] = {{"num_carried", num_carried},
                             {"num_scanned", static_cast<int64_t>(mapped.size())}};
  std::vector<Value*> results =
      scope->builder->Ops(ops::scan, operands, attrs, OneGraph(std::move(body)));
  TakeState(scope, place, &results);
  for (size_t i = 0; i < results.size(); ++i) {
    const int rank = RankOf(results[i]);
    const SymInt dim = args[4].items[i].integer;
    if (!dim.is_constant()) return BadArguments();
    results[i] = Permute(call, results[i], MoveDim(rank, 0, call.WrapDim(dim.value(), rank)));
  }
  WEFT_RETURN_IF_ERROR(call.status());
  return SetResults(scope, node, TensorArgs(results));
}

// The first argument names an operator of ATen, the second the dtype of its result; tensors are
// converted to a dtype that holds theirs and that one.
absl::Status ProgramImporter::ImportOutDtype(Scope* scope, const NodeDef& node) {
  if (node.inputs.size() < 2) return BadArguments();
  const std::string& target = node.inputs[0].value.name;
  const KnownOp* op = FindAten(target);
  if (op == nullptr) {
    return absl::UnimplementedError(absl::StrCat("\"", target, "\" is not supported in it"));
  }
  if (node.inputs.size() - 2 > op->schema.args.size()) return BadArguments();
  WEFT_ASSIGN_OR_RETURN(const Arg result, Resolve(scope, node.inputs[1].value));
  if (!result.dtype) return BadArguments();
  NodeDef inner;
  inner.target = target;
  inner.name = node.name;
  for (size_t i = 2; i < node.inputs.size(); ++i) {
    inner.inputs.push_back({op->schema.args[i - 2].name, node.inputs[i].value});
  }
  WEFT_ASSIGN_OR_RETURN(Args args, PlaceArguments(scope, inner, op->schema));
  DType wide = *result.dtype;
  const auto is_tensor = [](const Arg& a) { return a.is(Kind::kTensor) && a.value != nullptr; };
  for (const Arg& arg : args) {
    if (is_tensor(arg)) wide = PromoteTypes(wide, arg.value->type().dtype());
  }
  static const AtenSchema& none = *new AtenSchema;
  AtenCall converts(none, {}, scope->builder);
  for (Arg& arg : args) {
    if (is_tensor(arg)) arg = Arg::Tensor(Convert(converts, arg.value, wide));
  }
  AtenCall call(op->schema, args, scope->builder);
  op->fn(call);
  WEFT_RETURN_IF_ERROR(call.status());
  if (call.results().size() != 1 || !is_tensor(call.results()[0])) return BadArguments();
  Value* value = Convert(converts, call.results()[0].value, *result.dtype);
  return SetResults(scope, node, {Arg::Tensor(value)});
}

absl::Status ProgramImporter::ImportHigherOrder(Scope* scope, const NodeDef& node, bool* done) {
  Args args;
  const std::string& target = node.target;
  const bool vmap = target == kVmapTarget;
  constexpr absl::string_view kPrefix = "torch.ops.higher_order.";
  if (!vmap && !absl::StartsWith(target, kPrefix)) {
    return absl::OkStatus();
  }
  const std::string name = vmap ? "" : target.substr(kPrefix.size());
  if (name == "out_dtype") {
    *done = true;
    return ImportOutDtype(scope, node);
  }
  for (const NodeDef::Input& input : node.inputs) {
    WEFT_ASSIGN_OR_RETURN(Arg arg, Resolve(scope, input.value));
    args.push_back(std::move(arg));
  }
  *done = true;
  if (vmap) return ImportVmap(scope, node, args);
  if (name == "cond") return ImportCond(scope, node, args);
  if (name == "while_loop") return ImportWhile(scope, node, args);
  if (name == "scan") return ImportScan(scope, node, args);
  if (name == "map_impl" || name == "map") {
    return ImportMap(scope, node, args);
  }
  // Wrappers have settings, a graph, and its operands.
  size_t graph = 0;
  while (graph < args.size() && args[graph].graph == nullptr) ++graph;
  std::optional<DType> autocast = scope->autocast;
  const bool wrapper = name == "wrap_with_set_grad_enabled" || name == "invoke_subgraph" ||
                       name == "wrap" || name == "tag_activation_checkpoint" ||
                       name == "hints_wrapper";
  if (name == "wrap_with_autocast" && args.size() >= 5) {
    const bool enabled = args[2].is(Kind::kBool) && !args[2].integer.Is(0);
    autocast.reset();
    if (enabled) autocast = args[1].dtype.value_or(DType::kBF16);
  } else if (!wrapper) {
    *done = false;
    return absl::OkStatus();
  }
  if (graph == args.size()) return BadArguments();
  Args inputs;
  for (size_t i = graph + 1; i < args.size(); ++i) {
    // invoke_subgraph has the graph's name after it.
    if (args[i].is(Kind::kString)) continue;
    if (args[i].is(Kind::kList)) {
      inputs.insert(inputs.end(), args[i].items.begin(), args[i].items.end());
    } else {
      inputs.push_back(args[i]);
    }
  }
  WEFT_ASSIGN_OR_RETURN(Args results,
                        Inline(scope, *args[graph].graph, std::move(inputs), autocast));
  return SetResults(scope, node, std::move(results));
}

}  // namespace weft::pt2
