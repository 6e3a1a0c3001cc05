#include "graph/ops/evaluate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

using Tensors = std::vector<HostTensor>;

// Composites that decompose into composites, and nested graphs.
constexpr int kMaxDepth = 64;

absl::StatusOr<Tensors> EvaluateOp(const OpDef& op, const AttrList* attrs,
                                   absl::Span<const HostTensor> inputs,
                                   EvalContext::RegionRunner run_region, int depth);

absl::Status CheckSizes(const Types& types);

absl::Status AtOp(const OpDef& op, const absl::Status& status) {
  return Annotate(status, op.name());
}

bool IsSymIntOperand(const OpSchema& schema, int i) {
  const int last = static_cast<int>(schema.operands.size()) - 1;
  return last >= 0 && schema.operands[std::min(i, last)].symint;
}

// --- Sizes that this evaluation decided --------------------------------------

// Values of symbols, found by comparing types with tensors.
class Bindings {
 public:
  std::optional<SymInt> Of(SymInt symbol) const {
    auto it = values_.find(symbol);
    if (it == values_.end()) return std::nullopt;
    return SymInt(it->second);
  }

  // True if `t` may have type `type`; binds symbols that are bare sizes.
  bool Match(Type type, const HostTensor& t) {
    if (type.is_symint()) {
      return t.valid() && t.dtype() == DType::kI64 && t.rank() == 0 &&
             MatchSize(type.symint(), t.IntAt(0));
    }
    if (!t.valid() || t.dtype() != type.dtype() || t.rank() != type.rank()) {
      return false;
    }
    for (int i = 0; i < t.rank(); ++i) {
      if (!MatchSize(type.dim(i), t.dim(i))) return false;
    }
    return true;
  }

 private:
  bool MatchSize(SymInt size, int64_t actual) {
    if (size.is_symbol()) {
      return values_.emplace(size, actual).first->second == actual;
    }
    const std::optional<int64_t> value = Evaluate(size, [this](SymInt s) -> std::optional<int64_t> {
      auto it = values_.find(s);
      if (it == values_.end()) return std::nullopt;
      return it->second;
    });
    return !value || *value == actual;
  }

  absl::flat_hash_map<SymInt, int64_t> values_;
};

// --- Graphs -----------------------------------------------------------------

// Runs the nodes of a graph in order. Values are dropped after their last use.
class GraphEvaluator {
 public:
  GraphEvaluator(const Graph& graph, int depth)
      : graph_(graph),
        depth_(depth),
        values_(graph.value_id_limit()),
        uses_left_(graph.value_id_limit()) {}

  absl::StatusOr<Tensors> Run(absl::Span<const HostTensor> inputs) {
    if (static_cast<int>(inputs.size()) != graph_.num_inputs()) {
      return absl::InternalError(
          absl::StrCat("a graph of ", graph_.num_inputs(), " inputs got ", inputs.size()));
    }
    if (graph_.num_write_nodes() > 0) {
      return absl::UnimplementedError(
          absl::StrCat("@", graph_.name(), " writes: it needs an executor"));
    }
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      const Value* input = graph_.input(i);
      if (inputs[i].valid()) bindings_.Match(input->type(), inputs[i]);
      Define(input, inputs[i]);
    }
    for (const Node* node : graph_.nodes()) {
      WEFT_RETURN_IF_ERROR(RunNode(*node));
    }
    Tensors outputs;
    for (const Value* v : graph_.outputs()) outputs.push_back(values_[v->id()]);
    return outputs;
  }

 private:
  void Define(const Value* value, HostTensor t) {
    int uses = 0;
    for (const Use* u = value->first_use(); u != nullptr; u = u->next()) ++uses;
    uses_left_[value->id()] = uses;
    if (uses > 0) values_[value->id()] = std::move(t);
  }

  absl::Status RunNode(const Node& node) {
    if (node.Is(ops::constant)) {
      Define(node.result(), *LiteralOf(node.result()));
      return absl::OkStatus();
    }
    Tensors inputs(node.num_operands());
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.has_operand(i)) inputs[i] = values_[node.operand(i)->id()];
    }
    const AttrList* attrs = node.attr_list();
    if (attrs->is_symbolic()) {
      attrs = attrs->Substitute([this](SymInt s) { return bindings_.Of(s); });
    }
    auto run_region = [&](int region, absl::Span<const HostTensor> args,
                          Tensors* outputs) -> absl::Status {
      GraphEvaluator nested(*node.region(region), depth_ + 1);
      nested.bindings_ = bindings_;
      WEFT_ASSIGN_OR_RETURN(*outputs, nested.Run(args));
      return absl::OkStatus();
    };
    WEFT_ASSIGN_OR_RETURN(Tensors outputs,
                          node.op().has(kControlFlow)
                              ? EvaluateControlFlow(node, attrs, inputs, run_region)
                              : EvaluateOp(node.op(), attrs, inputs, run_region, depth_ + 1));
    for (int i = 0; i < node.num_results(); ++i) {
      if (!bindings_.Match(node.result(i)->type(), outputs[i])) {
        return AtOp(node.op(),
                    absl::InternalError(absl::StrCat("gave ", outputs[i].type().ToString(), " for ",
                                                     node.result(i)->type().ToString())));
      }
      Define(node.result(i), std::move(outputs[i]));
    }
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i)) continue;
      const uint32_t id = node.operand(i)->id();
      if (--uses_left_[id] == 0) values_[id] = HostTensor();
    }
    return absl::OkStatus();
  }

  // Uses the types of the node's results, as far as they are known, instead of Infer, which would
  // need the nested graphs.
  absl::StatusOr<Tensors> EvaluateControlFlow(const Node& node, const AttrList* attrs,
                                              const Tensors& inputs,
                                              EvalContext::RegionRunner run_region) {
    if (depth_ > kMaxDepth) {
      return AtOp(node.op(), absl::ResourceExhaustedError("nested too deeply"));
    }
    Types types;
    for (int i = 0; i < node.num_results(); ++i) {
      types.push_back(
          node.result(i)->type().Substitute([this](SymInt s) { return bindings_.Of(s); }));
    }
    WEFT_RETURN_IF_ERROR(CheckSizes(types));
    EvalContext context(node.op(), attrs, inputs, std::move(types), run_region);
    const absl::Status status = node.op().eval()(context);
    if (!status.ok()) return AtOp(node.op(), status);
    return context.TakeOutputs();
  }

  const Graph& graph_;
  const int depth_;
  std::vector<HostTensor> values_;  // By value id.
  std::vector<int> uses_left_;
  Bindings bindings_;
};

// --- Ops --------------------------------------------------------------------

// EvalContext allocates the results, so sizes that cannot be allocated are refused first.
absl::Status CheckSizes(const Types& types) {
  for (Type t : types) {
    if (!t.is_tensor()) continue;
    const auto dims = t.static_dims();
    if (!dims) continue;
    const auto numel = CheckedNumel(*dims);
    if (!numel || *numel > HostTensor::kDefaultMaxBytes ||
        DTypeBytes(t.dtype(), *numel) > HostTensor::kDefaultMaxBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a result of type ", t.ToString(), " is too large"));
    }
  }
  return absl::OkStatus();
}

Types TypesOf(const OpDef& op, absl::Span<const HostTensor> inputs) {
  Types types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.push_back(TypeOfValue(inputs[i], IsSymIntOperand(op.schema(), static_cast<int>(i))));
  }
  return types;
}

absl::StatusOr<Tensors> EvaluateDecomposition(const OpDef& op, const AttrList* attrs,
                                              absl::Span<const HostTensor> inputs,
                                              const Types& types, int depth) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  std::vector<Value*> operands;
  Tensors present;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (types[i].kind() == Type::Kind::kNone) {
      operands.push_back(nullptr);
      continue;
    }
    operands.push_back(graph->AddInput(types[i]));
    present.push_back(inputs[i]);
  }
  Builder builder(graph);
  OpArgs args;
  args.op = &op;
  args.operands = operands;
  args.types = types;
  args.attr_list = attrs;
  args.symbols = &module.symbols();
  const std::vector<Value*> results = op.decompose()(builder, args);
  WEFT_RETURN_IF_ERROR(builder.status());
  graph->SetOutputs(results);
  return GraphEvaluator(*graph, depth).Run(present);
}

absl::StatusOr<Tensors> EvaluateTyped(const OpDef& op, const AttrList* attrs,
                                      absl::Span<const HostTensor> inputs, const Types& types,
                                      const Types& results, EvalContext::RegionRunner run_region,
                                      int depth) {
  if (op.eval() != nullptr) {
    WEFT_RETURN_IF_ERROR(CheckSizes(results));
    EvalContext context(op, attrs, inputs, results, run_region);
    WEFT_RETURN_IF_ERROR(op.eval()(context));
    return context.TakeOutputs();
  }
  if (op.decompose() != nullptr) {
    return EvaluateDecomposition(op, attrs, inputs, types, depth);
  }
  return absl::UnimplementedError("has neither Eval nor a decomposition");
}

absl::StatusOr<Tensors> EvaluateOp(const OpDef& op, const AttrList* attrs,
                                   absl::Span<const HostTensor> inputs,
                                   EvalContext::RegionRunner run_region, int depth) {
  if (depth > kMaxDepth) {
    return AtOp(op, absl::ResourceExhaustedError("nested too deeply"));
  }
  SymbolTable symbols;
  const Types types = TypesOf(op, inputs);
  OpArgs args;
  args.op = &op;
  args.types = types;
  args.attr_list = attrs;
  args.symbols = &symbols;
  WEFT_ASSIGN_OR_RETURN(const Types results, InferTypes(args));
  absl::StatusOr<Tensors> outputs =
      EvaluateTyped(op, attrs, inputs, types, results, run_region, depth);
  if (!outputs.ok()) return AtOp(op, outputs.status());
  if (outputs->size() != results.size()) {
    return AtOp(op, absl::InternalError(absl::StrCat("evaluation gave ", outputs->size(),
                                                     " results, not ", results.size())));
  }
  Bindings bindings;
  for (size_t i = 0; i < results.size(); ++i) {
    if (bindings.Match(results[i], (*outputs)[i])) continue;
    return AtOp(op, absl::InternalError(absl::StrCat("result ", i, " was evaluated as ",
                                                     TypeOfValue((*outputs)[i], false).ToString(),
                                                     " but inferred as ", results[i].ToString())));
  }
  return outputs;
}

}  // namespace

Type TypeOfValue(const HostTensor& tensor, bool symint) {
  if (!tensor.valid()) return Type();
  if (symint) return Type::Symbolic(SymInt(tensor.IntAt(0)));
  return tensor.type();
}

absl::StatusOr<Tensors> Evaluate(const OpDef& op, const AttrList* attrs,
                                 absl::Span<const HostTensor> inputs,
                                 EvalContext::RegionRunner run_region) {
  return EvaluateOp(op, attrs != nullptr ? attrs : AttrList::Empty(), inputs, run_region, 0);
}

absl::StatusOr<Tensors> Evaluate(const OpDef& op, const AttrList* attrs,
                                 absl::Span<const HostTensor> inputs) {
  return Evaluate(op, attrs, inputs, [](int, absl::Span<const HostTensor>, Tensors*) {
    return absl::InternalError("no nested graphs were given");
  });
}

absl::StatusOr<Tensors> EvaluateDecomposed(const OpDef& op, const AttrList* attrs,
                                           absl::Span<const HostTensor> inputs) {
  WEFT_CHECK(op.is_composite()) << op.name();
  return EvaluateDecomposition(op, attrs, inputs, TypesOf(op, inputs), 0);
}

absl::StatusOr<Tensors> EvaluateGraph(const Graph& graph, absl::Span<const HostTensor> inputs) {
  return GraphEvaluator(graph, 0).Run(inputs);
}

}  // namespace weft
