#include "api/check/reduce_edits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "api/check/region.h"
#include "base/host_buffer.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"

namespace weft::reduce {
namespace {

constexpr int64_t kFewElements = 64;

// A clone to edit, and a node at a position in it.
struct Edited {
  Candidate module;
  Node* node = nullptr;
};

Edited CloneAt(const Graph& graph, int64_t position) {
  Edited edited;
  edited.module = graph.module().Clone();
  edited.node = edited.module->FindFunction(graph.name())->first_node();
  while (position-- > 0) edited.node = edited.node->next();
  return edited;
}

// The module of `graph` without nodes that its outputs do not use.
Candidate Clean(const Graph& graph) {
  std::vector<const Value*> outputs;
  for (Value* output : graph.outputs()) outputs.push_back(output);
  return Keep(graph, outputs);
}

HostTensor Filled(Type type, double number) {
  const auto dims = *type.static_dims();
  HostTensor tensor(type.dtype(), dims);
  tensor.WriteDoubles(std::vector<double>(tensor.numel(), number));
  return tensor;
}

bool IsFillable(Type type) {
  if (!type.is_tensor() || !type.is_static() || IsComplex(type.dtype())) return false;
  return type.numel().is_constant() && type.numel().value() <= kFewElements;
}

// The leading part of a tensor along the dims that get smaller.
HostTensor Shrunk(const HostTensor& tensor, int64_t from, int64_t to) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  std::replace(dims.begin(), dims.end(), from, to);
  const HostTensor dense = tensor.Contiguous();
  auto view =
      HostTensor::View(dense.buffer(), dense.dtype(), dims, dense.strides(), dense.offset());
  return view.ok() ? view->Contiguous() : tensor;
}

// Rebuilds a graph with other sizes.
class Resizer {
 public:
  Resizer(const Graph& graph, SymInt from, int64_t to)
      : graph_(graph),
        from_(from),
        to_(to),
        module_(std::make_unique<Module>(graph.module().registry())) {}

  Candidate Run() {
    for (const SymbolInfo& info : graph_.module().symbols().symbols()) {
      if (info.symbol != from_ && !info.unbacked) module_->symbols().Declare(info);
    }
    Graph* main = module_->AddFunction("main");
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      const InputInfo& info = graph_.input_info(i);
      values_[graph_.input(i)] = main->AddInput(Resized(graph_.input(i)->type()), info.name);
      if (info.value >= 0) return nullptr;
    }
    for (const Node* node : graph_.nodes()) {
      if (node->num_regions() > 0 || !Build(*node, main)) return nullptr;
    }
    std::vector<Value*> outputs;
    for (Value* output : graph_.outputs()) outputs.push_back(values_.at(output));
    main->SetOutputs(outputs);
    return std::move(module_);
  }

 private:
  SymInt Resized(SymInt size) const {
    if (size == from_) return to_;
    return Substitute(size, [&](SymInt s) -> std::optional<SymInt> {
      if (s == from_) return SymInt(to_);
      return std::nullopt;
    });
  }

  Type Resized(Type type) const {
    if (type.is_symint()) return Type::Symbolic(Resized(type.symint()));
    std::vector<SymInt> dims;
    for (SymInt d : type.dims()) dims.push_back(Resized(d));
    return type.WithDims(dims);
  }

  const AttrList* Resized(const Node& node) const {
    std::vector<AttrValue> values;
    for (int i = 0; i < node.attr_list()->size(); ++i) {
      const AttrValue& value = (*node.attr_list())[i];
      const AttrKind kind = node.op().schema().attrs[i].kind;
      if (kind == AttrKind::kSymInt && value.present()) {
        values.push_back(Resized(*value.get_if<SymInt>()));
      } else if (kind == AttrKind::kSymInts && value.present()) {
        std::vector<SymInt> sizes;
        for (SymInt s : value.symints()) sizes.push_back(Resized(s));
        values.push_back(std::move(sizes));
      } else {
        values.push_back(value);
      }
    }
    return AttrList::Get(std::move(values));
  }

  bool Build(const Node& node, Graph* main) {
    Builder::Options options;
    options.fold = false;
    Builder b(main, nullptr, options);
    if (node.Is(ops::constant)) {
      const HostTensor* literal = LiteralOf(node.result());
      const bool number = from_.is_constant();
      values_[node.result()] = b.Constant(number ? Shrunk(*literal, from_.value(), to_) : *literal);
      return b.status().ok();
    }
    std::vector<Value*> operands;
    for (int i = 0; i < node.num_operands(); ++i) {
      operands.push_back(node.has_operand(i) ? values_.at(node.operand(i)) : nullptr);
    }
    const std::vector<Value*> results = b.Create(node.op(), operands, Resized(node));
    if (!b.status().ok() || static_cast<int>(results.size()) != node.num_results()) return false;
    for (int i = 0; i < node.num_results(); ++i) values_[node.result(i)] = results[i];
    return true;
  }

  const Graph& graph_;
  SymInt from_;
  int64_t to_;
  Candidate module_;
  absl::flat_hash_map<const Value*, Value*> values_;
};

}  // namespace

std::vector<const Node*> NodesOf(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node* node : graph.nodes()) nodes.push_back(node);
  return nodes;
}

Candidate Keep(const Graph& graph, const std::vector<const Value*>& outputs,
               const std::vector<const Value*>& boundary) {
  if (outputs.empty()) return nullptr;
  const RegionSpec spec = RegionUpTo(graph, outputs, {boundary.begin(), boundary.end()});
  auto module = CutRegion(graph, spec, Unbound(FreeSymbols(graph, spec), spec.input_types));
  return module.ok() ? *std::move(module) : nullptr;
}

Candidate KeepFunction(const Graph& graph) { return Clean(graph); }

Candidate CutAfter(const Graph& graph, int64_t position) {
  absl::flat_hash_set<const Node*> before;
  std::vector<const Value*> outputs;
  const std::vector<const Node*> nodes = NodesOf(graph);
  for (int64_t i = 0; i <= position; ++i) before.insert(nodes[i]);
  for (int64_t i = 0; i <= position; ++i) {
    for (int r = 0; r < nodes[i]->num_results(); ++r) {
      bool used = false;
      for (const Use* use = nodes[i]->result(r)->first_use(); use && !used; use = use->next()) {
        used = !before.contains(use->user());
      }
      if (used) outputs.push_back(nodes[i]->result(r));
    }
  }
  return Keep(graph, outputs);
}

Candidate CutBefore(const Graph& graph, int64_t position) {
  return NodesToInputs(graph, 0, position);
}

Candidate NodesToInputs(const Graph& graph, int64_t first, int64_t last) {
  std::vector<const Value*> outputs, boundary;
  for (Value* output : graph.outputs()) outputs.push_back(output);
  const std::vector<const Node*> nodes = NodesOf(graph);
  for (int64_t i = first; i < last; ++i) {
    for (int r = 0; r < nodes[i]->num_results(); ++r) boundary.push_back(nodes[i]->result(r));
  }
  return Keep(graph, outputs, boundary);
}

Candidate NodeToOperand(const Graph& graph, int64_t position, int index) {
  Edited edited = CloneAt(graph, position);
  if (edited.node->num_results() != 1 || !edited.node->has_operand(index)) return nullptr;
  Value* operand = edited.node->operand(index);
  if (operand->type() != edited.node->result()->type()) return nullptr;
  edited.node->result()->ReplaceAllUsesWith(operand);
  return Clean(*edited.node->graph());
}

Candidate NodeToConstant(const Graph& graph, int64_t position, double number) {
  Edited edited = CloneAt(graph, position);
  if (edited.node->num_results() != 1 || edited.node->Is(ops::constant)) return nullptr;
  Value* result = edited.node->result();
  if (!IsFillable(result->type())) return nullptr;
  Builder b(edited.node->graph(), edited.node);
  result->ReplaceAllUsesWith(b.Constant(Filled(result->type(), number)));
  return Clean(*edited.node->graph());
}

Candidate InlineRegion(const Graph& graph, int64_t position, int region) {
  Edited edited = CloneAt(graph, position);
  Node* node = edited.node;
  Graph* inner = node->region(region);
  if (inner->num_outputs() != node->num_results()) return nullptr;
  for (int i = 0; i < node->num_results(); ++i) {
    if (inner->output(i)->type() != node->result(i)->type()) return nullptr;
  }
  std::vector<Value*> inputs;
  for (Value* input : inner->inputs()) inputs.push_back(node->graph()->AddInput(input->type()));
  const std::vector<Value*> results = InlineGraph(*inner, inputs, node->graph(), node);
  for (int i = 0; i < node->num_results(); ++i) node->result(i)->ReplaceAllUsesWith(results[i]);
  return Clean(*node->graph());
}

Candidate MergeInputs(const Graph& graph, int from, int to) {
  if (graph.input(from)->type() != graph.input(to)->type()) return nullptr;
  if (graph.input_info(from).value >= 0 || graph.input_info(to).value >= 0) return nullptr;
  Candidate module = graph.module().Clone();
  Graph* copy = module->FindFunction(graph.name());
  copy->input(from)->ReplaceAllUsesWith(copy->input(to));
  return Clean(*copy);
}

Candidate Resize(const Graph& graph, SymInt from, int64_t to) {
  Candidate module = Resizer(graph, from, to).Run();
  return module == nullptr ? nullptr : Clean(*module->main());
}

Candidate PlainConstant(const Graph& graph, int64_t position, double number) {
  Edited edited = CloneAt(graph, position);
  const HostTensor* literal = LiteralOf(edited.node->result());
  if (literal == nullptr || IsComplex(literal->dtype())) return nullptr;
  HostTensor plain(literal->dtype(), literal->dims());
  plain.WriteDoubles(std::vector<double>(plain.numel(), number));
  Builder b(edited.node->graph(), edited.node);
  edited.node->result()->ReplaceAllUsesWith(b.Constant(plain));
  return Clean(*edited.node->graph());
}

std::vector<SymInt> SizesOf(const Graph& graph) {
  std::vector<SymInt> symbols, numbers;
  absl::flat_hash_set<SymInt> seen;
  const auto add = [&](Type type) {
    if (!type.is_tensor()) return;
    for (SymInt d : type.dims()) {
      if (d.is_constant() && d.value() > 1 && seen.insert(d).second) numbers.push_back(d);
      ForEachSymbol(d, [&](SymInt s) {
        if (seen.insert(s).second) symbols.push_back(s);
      });
    }
  };
  for (Value* input : graph.inputs()) add(input->type());
  for (const Node* node : graph.nodes()) {
    if (node->Is(ops::constant)) add(node->result()->type());
  }
  std::sort(numbers.begin(), numbers.end(),
            [](SymInt a, SymInt b) { return a.value() > b.value(); });
  symbols.insert(symbols.end(), numbers.begin(), numbers.end());
  return symbols;
}

}  // namespace weft::reduce
