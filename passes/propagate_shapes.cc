// Rounds of four steps, until one changes nothing. Each step is a sweep over the
// module; one round is enough unless a new constant size lets more tensors be
// followed.
//
//   1 Resolve     data-dependent nodes whose symbols are known: collects
//                 symbol -> expression, in topological order, so that later
//                 expressions are written without the earlier symbols
//   2 Substitute  applies all of them at once to types and attributes, inner
//                 graphs before outer ones
//   3 Materialize known integer tensors as constants or sym_constants
//   4 Refine      infers types that are not static again
//   5 Guard       on request, and only when the others changed nothing: takes
//                 over what nodes need
#include "passes/propagate_shapes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/ops/symbolic_values.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/sizes/logs.h"
#include "passes/sizes/needs.h"
#include "passes/sizes/substitute.h"

namespace weft {
namespace {

constexpr int kMaxRounds = 32;
// Constants that data-dependent ops are evaluated on.
constexpr int64_t kMaxConstant = 1 << 16;

bool MentionsUnbacked(SymInt s, const SymbolTable& symbols) {
  bool found = false;
  ForEachSymbol(s, [&](SymInt u) { found |= symbols.IsUnbacked(u); });
  return found;
}

bool IsNested(const Graph& graph) {
  const auto& functions = graph.module().functions();
  return std::none_of(functions.begin(), functions.end(),
                      [&](const auto& function) { return function.get() == &graph; });
}

class ShapePropagation {
 public:
  ShapePropagation(Module& module, PassContext& context, const PropagateShapesOptions& options)
      : module_(module), context_(context), options_(options) {}

  absl::Status Run() {
    for (int round = 0; round < kMaxRounds; ++round) {
      changed_ = false;
      SymbolicValues values(module_);
      for (Graph* graph : module_.AllGraphs()) {
        WEFT_RETURN_IF_ERROR(Resolve(*graph, &values));
      }
      WEFT_RETURN_IF_ERROR(Substitute());
      SymbolicValues after(module_);
      for (Graph* graph : module_.AllGraphs()) {
        WEFT_RETURN_IF_ERROR(Materialize(*graph, &after));
      }
      for (Graph* graph : module_.AllGraphs()) {
        WEFT_RETURN_IF_ERROR(Refine(*graph));
      }
      if (!changed_ && options_.guards) WEFT_RETURN_IF_ERROR(Guard());
      if (!changed_) return absl::OkStatus();
    }
    return context_.ReportDivergence("sizes still change after 32 rounds", "");
  }

 private:
  absl::Status Resolve(Graph& graph, SymbolicValues* values);
  absl::Status ResolveItem(Node& node, SymbolicValues* values);
  absl::Status ResolveRange(Node& node, SymbolicValues* values);
  absl::Status ResolveConstant(Node& node);
  bool Define(const Node& node, SymInt symbol, SymInt value);
  absl::Status Substitute();
  absl::Status CarryOver(const std::vector<SymCondition>& conditions);
  std::optional<SymInt> Replacement(SymInt symbol) const;
  absl::Status Materialize(Graph& graph, SymbolicValues* values);
  bool IsWanted(const Value& value, SymbolicValues* values) const;
  Value* Build(const Value& value, const std::vector<SymInt>& elements, Rewriter& rewriter) const;
  absl::Status Refine(Graph& graph);
  Type RefinedType(Type type, Type inferred) const;
  SymInt BestSize(SymInt size, SymInt inferred) const;
  absl::Status Guard();

  Module& module_;
  PassContext& context_;
  const PropagateShapesOptions& options_;
  bool changed_ = false;
  absl::flat_hash_map<SymInt, SymInt> substitution_;
  std::vector<SymInt> substituted_;  // In order.
  // Symbols of nested graphs among these; facts about them hold where the graphs run.
  absl::flat_hash_set<SymInt> nested_;
  Node::ArgStorage storage_;
};

// --- 1 Resolve -------------------------------------------------------------------

absl::Status ShapePropagation::Resolve(Graph& graph, SymbolicValues* values) {
  for (Node* node : graph.nodes()) {
    if (!node->op().has(kDataDependent) || !node->op().is_pure()) continue;
    if (node->Is(ops::item)) {
      WEFT_RETURN_IF_ERROR(ResolveItem(*node, values));
    } else if (node->Is(ops::range)) {
      WEFT_RETURN_IF_ERROR(ResolveRange(*node, values));
    } else {
      WEFT_RETURN_IF_ERROR(ResolveConstant(*node));
    }
  }
  return absl::OkStatus();
}

// Remembers symbol -> value when `node` defines the symbol.
bool ShapePropagation::Define(const Node& node, SymInt symbol, SymInt value) {
  if (!symbol.is_symbol() || !module_.symbols().IsUnbacked(symbol)) {
    return false;
  }
  const Value* definition = node.graph()->SymbolDefinition(symbol);
  if (definition == nullptr || definition->node() != &node) return false;
  value = weft::Substitute(value, [&](SymInt s) { return Replacement(s); });
  if (!value.is_valid() || ContainsSymbol(value, symbol)) return false;
  // A value that the symbol's facts rule out fails when the program runs.
  if (module_.symbols().ProveEq(symbol, value) == Proof::kNo) return false;
  if (!substitution_.emplace(symbol, value).second) return false;
  substituted_.push_back(symbol);
  if (IsNested(*node.graph())) nested_.insert(symbol);
  return true;
}

absl::Status ShapePropagation::ResolveItem(Node& node, SymbolicValues* values) {
  const std::vector<SymInt>* elements = values->Of(node.operand(0));
  if (elements == nullptr || elements->size() != 1) return absl::OkStatus();
  Define(node, node.result()->type().symint(), (*elements)[0]);
  return absl::OkStatus();
}

absl::Status ShapePropagation::ResolveRange(Node& node, SymbolicValues* values) {
  SymInt bounds[3];
  for (int i = 0; i < 3; ++i) {
    const std::vector<SymInt>* elements = values->Of(node.operand(i));
    if (elements == nullptr || elements->size() != 1) return absl::OkStatus();
    bounds[i] = (*elements)[0];
  }
  if (!bounds[2].is_constant() || bounds[2].Is(0)) return absl::OkStatus();
  const Type type = node.result()->type();
  Rewriter rewriter(node.graph());
  rewriter.Begin(&node);
  Value* arange = ops::BuildArange(rewriter, bounds[0], bounds[1], bounds[2], type.dtype());
  if (arange == nullptr || !Define(node, type.dim(0), arange->type().dim(0))) {
    rewriter.Abandon();
    return absl::OkStatus();
  }
  changed_ = true;
  return rewriter.ReplaceRoot({&arange, 1});
}

// Evaluates a node whose operands are all small constants.
absl::Status ShapePropagation::ResolveConstant(Node& node) {
  if (node.num_regions() != 0 || node.attr_list()->is_symbolic() || !node.has_uses()) {
    return absl::OkStatus();
  }
  std::vector<HostTensor> inputs(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    const HostTensor* literal = LiteralOf(node.operand(i));
    if (literal == nullptr || literal->numel() > kMaxConstant) {
      return absl::OkStatus();
    }
    inputs[i] = *literal;
  }
  auto outputs = Evaluate(node.op(), node.attr_list(), inputs);
  if (!outputs.ok()) return absl::OkStatus();  // It will fail at run time.
  for (int i = 0; i < node.num_results(); ++i) {
    const Type type = node.result(i)->type();
    for (int d = 0; type.is_tensor() && d < type.rank(); ++d) {
      Define(node, type.dim(d), (*outputs)[i].dim(d));
    }
  }
  Rewriter rewriter(node.graph());
  rewriter.Begin(&node);
  std::vector<Value*> constants;
  for (const HostTensor& output : *outputs) {
    constants.push_back(rewriter.Constant(output));
  }
  changed_ = true;
  return rewriter.ReplaceRoot(constants);
}

// --- 2 Substitute -------------------------------------------------------------------

std::optional<SymInt> ShapePropagation::Replacement(SymInt symbol) const {
  auto it = substitution_.find(symbol);
  if (it == substitution_.end()) return std::nullopt;
  return it->second;
}

// Substitutes replaced symbols in the conditions that mention them.
absl::Status ShapePropagation::CarryOver(const std::vector<SymCondition>& conditions) {
  for (const SymCondition& c : conditions) {
    bool nested = false;
    ForEachSymbol(c.condition, [&](SymInt symbol) { nested |= nested_.contains(symbol); });
    const SymInt written =
        weft::Substitute(c.condition, [this](SymInt s) { return Replacement(s); });
    if (nested || written == c.condition || !written.is_valid()) continue;
    if (Assume(module_.symbols(), {written, c.origin}) != Proof::kNo) continue;
    return absl::InvalidArgumentError(absl::StrCat(c.origin, " needs ", c.condition.ToString(),
                                                   ", which is ", written.ToString(),
                                                   "; the facts about sizes rule that out"));
  }
  return absl::OkStatus();
}

absl::Status ShapePropagation::Substitute() {
  if (substitution_.empty()) return absl::OkStatus();
  const auto replacement = [this](SymInt s) { return Replacement(s); };
  SubstituteSymbols(module_, replacement);
  const std::vector<Graph*> graphs = module_.AllGraphs();
  for (auto it = graphs.rbegin(); it != graphs.rend(); ++it) {
    for (Node* node : (*it)->nodes()) {
      const bool dead = node->op().has(kDataDependent) && node->op().is_pure() && !node->has_uses();
      if (dead) (*it)->EraseNode(node);
    }
  }
  const absl::Span<const SymCondition> known = module_.symbols().conditions();
  const std::vector<SymCondition> conditions(known.begin(), known.end());
  module_.symbols().Remove(substituted_);
  WEFT_RETURN_IF_ERROR(CarryOver(conditions));
  context_.Count("substituted", static_cast<int64_t>(substituted_.size()));
  substitution_.clear();
  substituted_.clear();
  nested_.clear();
  changed_ = true;
  return absl::OkStatus();
}

// --- 3 Materialize ------------------------------------------------------------------

// Some user is not size arithmetic that is known itself.
bool ShapePropagation::IsWanted(const Value& value, SymbolicValues* values) const {
  for (const Use* use = value.first_use(); use != nullptr; use = use->next()) {
    const Node* user = use->user();
    bool known = user->num_results() > 0;
    for (int i = 0; known && i < user->num_results(); ++i) {
      known = values->Of(user->result(i)) != nullptr;
    }
    if (!known) return true;
  }
  return false;
}

Value* ShapePropagation::Build(const Value& value, const std::vector<SymInt>& elements,
                               Rewriter& rewriter) const {
  const Type type = value.type();
  const std::vector<int64_t> dims = *type.static_dims();
  if (const auto constants = AllConstant(elements)) {
    return rewriter.Constant(HostTensor::FromInts(type.dtype(), dims, *constants));
  }
  return ops::BuildSymConstant(rewriter, elements, dims, type.dtype());
}

absl::Status ShapePropagation::Materialize(Graph& graph, SymbolicValues* values) {
  Rewriter rewriter(&graph);
  for (Node* node : graph.nodes()) {
    // An expanded constant is more useful than its elements.
    if (!node->op().is_mergeable() || node->Is(ops::constant) || node->Is(ops::sym_constant) ||
        node->Is(ops::expand)) {
      continue;
    }
    std::vector<Value*> replacements(node->num_results());
    bool any = false;
    rewriter.Begin(node);
    for (int i = 0; i < node->num_results(); ++i) {
      Value* value = node->result(i);
      if (!value->type().is_tensor() || !value->has_uses()) continue;
      const std::vector<SymInt>* elements = values->Of(value);
      if (elements == nullptr || !IsWanted(*value, values)) continue;
      // sym_constant has no bools.
      if (value->type().dtype() == DType::kBool && !AllConstant(*elements)) {
        continue;
      }
      replacements[i] = Build(*value, *elements, rewriter);
      any = true;
    }
    if (!any) continue;
    WEFT_RETURN_IF_ERROR(rewriter.status());
    for (Value*& value : replacements) {
      context_.Count("known", value != nullptr ? 1 : 0);
    }
    changed_ = true;
    WEFT_RETURN_IF_ERROR(rewriter.ReplaceResults(replacements));
  }
  return absl::OkStatus();
}

// --- 4 Refine ------------------------------------------------------------------------

// Ranks sizes: numbers first, then expressions of sizes that inputs give.
int Vagueness(SymInt s, const SymbolTable& symbols) {
  if (s.is_constant()) return 0;
  bool chooses = false;
  std::vector<SymInt> stack = {s};
  while (!stack.empty()) {
    const SymInt top = stack.back();
    stack.pop_back();
    chooses |= top.kind() == SymInt::Kind::kBroadcast || top.kind() == SymInt::Kind::kSelect;
    stack.insert(stack.end(), top.args().begin(), top.args().end());
  }
  return 1 + chooses + 2 * MentionsUnbacked(s, symbols);
}

// The declared size, or an equal one with a better rank.
SymInt ShapePropagation::BestSize(SymInt size, SymInt inferred) const {
  const SymbolTable& symbols = module_.symbols();
  SymInt best = size;
  int vagueness = Vagueness(size, symbols);
  for (SymInt other : {inferred, symbols.Simplify(size), symbols.Simplify(inferred)}) {
    if (other == best || !other.is_valid()) continue;
    const int theirs = Vagueness(other, symbols);
    if (theirs >= vagueness) continue;
    best = other;
    vagueness = theirs;
  }
  return best;
}

Type ShapePropagation::RefinedType(Type type, Type inferred) const {
  if (!type.is_tensor() || !inferred.is_tensor() || type.rank() != inferred.rank()) {
    return type;
  }
  std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
  for (int i = 0; i < type.rank(); ++i) {
    if (!dims[i].is_constant()) dims[i] = BestSize(dims[i], inferred.dim(i));
  }
  return type.WithDims(dims);
}

absl::Status ShapePropagation::Refine(Graph& graph) {
  absl::flat_hash_set<const Value*> refined;
  for (Node* node : graph.nodes()) {
    if (node->op().has(kDataDependent) || node->Is(ops::constant)) continue;
    bool open = false;
    for (int i = 0; i < node->num_results(); ++i) {
      open |= IsSymbolic(node->result(i)->type());
    }
    // The refined type of an operand may not fit the node.
    for (int i = 0; i < node->num_operands(); ++i) open |= refined.contains(node->operand(i));
    if (!open) continue;
    WEFT_ASSIGN_OR_RETURN(Types inferred, InferTypes(node->Args(&storage_)));
    for (int i = 0; i < node->num_results(); ++i) {
      Value* result = node->result(i);
      const Type type = RefinedType(result->type(), inferred[i]);
      if (type == result->type()) continue;
      result->set_type(type);
      refined.insert(result);
    }
  }
  if (!refined.empty()) changed_ = true;
  context_.Count("refined", static_cast<int64_t>(refined.size()));
  return absl::OkStatus();
}

// --- 5 Guard -------------------------------------------------------------------------

absl::Status ShapePropagation::Guard() {
  WEFT_ASSIGN_OR_RETURN(const AssumedSizes assumed, AssumeSizesOfNodes(module_));
  if (assumed.guards > 0) context_.Count("guards", assumed.guards);
  if (assumed.asserts > 0) context_.Count("asserts", assumed.asserts);
  changed_ |= assumed.guards + assumed.asserts > 0;
  return absl::OkStatus();
}

class PropagateShapesPass : public Pass {
 public:
  explicit PropagateShapesPass(const PropagateShapesOptions& options) : options_(options) {}
  absl::string_view name() const override { return "propagate_shapes"; }
  const LogComponent& log() const override { return shapes_log; }
  absl::string_view doc() const override {
    return "Works out sizes: what integer tensors hold, and types from it.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("guards", &options_.guards,
                  "what ops assume about sizes becomes conditions of the module");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    return ShapePropagation(module, context, options_).Run();
  }

 private:
  PropagateShapesOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreatePropagateShapesPass(const PropagateShapesOptions& options) {
  return std::make_unique<PropagateShapesPass>(options);
}

std::unique_ptr<Pass> CreatePropagateShapesPass() { return CreatePropagateShapesPass({}); }

}  // namespace weft
