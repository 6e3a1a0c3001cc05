// Copies of graphs: Module::Clone, InlineGraph.
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "graph/ir/annotations.h"
#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"

namespace weft {

using internal::CollectSymbols;
using internal::NestedGraphs;

// Copies graphs node by node; nested graphs wait on a list, not on the stack.
class GraphCloner {
 public:
  using SymbolMap = absl::flat_hash_map<SymInt, SymInt>;

  // Constants and symbols are copied too if the modules differ.
  GraphCloner(const Module& from, Module* to) : from_(from), to_(to) {}

  void Rename(SymbolMap renamed) { renamed_ = std::move(renamed); }
  // Copies origins, for modules with equal tables of origins.
  void CopyOrigins() { copies_origins_ = true; }

  // Copies nodes of `from` into `to` before `before`. `values` maps values of `from` to their
  // copies: it holds those of the inputs, and gets those of the results.
  void CopyNodes(const Graph& from, Graph* to, Node* before, std::vector<Value*>* values) {
    values->resize(from.value_id_limit());
    for (Node* node : from.nodes()) CopyNode(node, to, before, values);
  }

  void CopyGraph(const Graph& from, Graph* to) {
    std::vector<Value*> values(from.value_id_limit());
    for (int i = 0; i < from.num_inputs(); ++i) {
      InputInfo info = from.input_info(i);
      Value* input = to->AddInput(Convert(from.input(i)->type()), info.name);
      if (info.value >= 0) info.value = CopyConstant(info.value);
      if (info.initial >= 0) info.initial = CopyConstant(info.initial);
      to->input_info(i) = std::move(info);
      CopyNotes(from.input(i), input);
      values[from.input(i)->id()] = input;
    }
    CopyNodes(from, to, to->return_node(), &values);
    to->SetOutputs(MapOutputs(from, values));
    CopyNotes(from.return_node(), to->return_node());
    to->output_names() = from.output_names();
    if (!from.write_backs().empty()) to->SetWriteBacks(from.write_backs());
  }

  // Copies the nested graphs met so far.
  void Finish() {
    while (!pending_.empty()) {
      auto [from, to] = pending_.back();
      pending_.pop_back();
      CopyGraph(*from, to);
    }
  }

  static std::vector<Value*> MapOutputs(const Graph& from, const std::vector<Value*>& values) {
    std::vector<Value*> outputs;
    for (int i = 0; i < from.num_outputs(); ++i) {
      outputs.push_back(values[from.output(i)->id()]);
    }
    return outputs;
  }

 private:
  void CopyNode(const Node* node, Graph* to, Node* before, std::vector<Value*>* values) {
    std::vector<Value*> operands, symbols;
    for (int i = 0; i < node->num_operands(); ++i) {
      Value* operand = node->operand(i);
      operands.push_back(operand ? (*values)[operand->id()] : nullptr);
    }
    for (int i = 0; i < node->num_symbol_operands(); ++i) {
      symbols.push_back((*values)[node->symbol_operand(i)->id()]);
    }
    Types types;
    for (int i = 0; i < node->num_results(); ++i) {
      types.push_back(Convert(node->result(i)->type()));
    }
    std::vector<std::unique_ptr<Graph>> regions;
    for (int i = 0; i < node->num_regions(); ++i) {
      regions.push_back(std::make_unique<Graph>(&to->module(), node->region(i)->name()));
      pending_.push_back({node->region(i), regions.back().get()});
    }
    Node* copy = to->CreateRaw(node->op(), operands, symbols, CopyAttrs(node), types, before,
                               std::move(regions));
    copy->set_provenance(CopyProvenance(node->provenance()));
    if (copies_origins_) copy->set_origin(node->origin());
    CopyNotes(node, copy);
    for (int i = 0; i < node->num_results(); ++i) {
      (*values)[node->result(i)->id()] = copy->result(i);
    }
  }

  std::optional<SymInt> Renamed(SymInt symbol) const {
    auto it = renamed_.find(symbol);
    if (it == renamed_.end()) return std::nullopt;
    return it->second;
  }

  Type Convert(Type type) const {
    if (renamed_.empty()) return type;
    return type.Substitute([this](SymInt s) { return Renamed(s); });
  }

  const AttrList* CopyAttrs(const Node* node) {
    if (node->Is(ops::constant) && &from_ != to_) {
      const int id = ops::ConstantView(*node).id();
      return AttrList::Get({AttrValue(CopyConstant(id))});
    }
    if (renamed_.empty()) return node->attr_list();
    return node->attr_list()->Substitute([this](SymInt s) { return Renamed(s); });
  }

  int CopyConstant(int id) {
    if (&from_ == to_) return id;
    auto [it, inserted] = constants_.emplace(id, 0);
    if (inserted) {
      it->second = to_->constants().Add(from_.constants().tensor(id), from_.constants().name(id));
    }
    return it->second;
  }

  ProvenanceId CopyProvenance(ProvenanceId id) {
    if (&from_ == to_ || id == 0) return id;
    auto [it, inserted] = provenance_.emplace(id, 0);
    if (inserted) {
      for (const std::string& name : from_.provenance().Names(id)) {
        it->second = to_->provenance().Merge(it->second, to_->provenance().Leaf(name));
      }
    }
    return it->second;
  }

  bool copies_origins_ = false;
  const Module& from_;
  Module* to_;
  SymbolMap renamed_;
  absl::flat_hash_map<int, int> constants_;
  absl::flat_hash_map<ProvenanceId, ProvenanceId> provenance_;
  std::vector<std::pair<const Graph*, Graph*>> pending_;
};

std::unique_ptr<Module> Module::Clone() const {
  auto copy = std::make_unique<Module>(*registry_);
  *copy->constants_ = *constants_;
  *copy->symbols_ = *symbols_;
  *copy->origins_ = *origins_;
  GraphCloner cloner(*this, copy.get());
  cloner.CopyOrigins();
  for (const auto& function : functions_) {
    cloner.CopyGraph(*function, copy->AddFunction(function->name()));
  }
  cloner.Finish();
  return copy;
}

std::vector<Value*> InlineGraph(const Graph& from, absl::Span<Value* const> inputs, Graph* to,
                                Node* before) {
  WEFT_CHECK(static_cast<int>(inputs.size()) == from.num_inputs());
  GraphCloner cloner(from.module(), &to->module());
  // Symbols that both graphs define get new names in the copy.
  SymbolTable& symbols = to->module().symbols();
  GraphCloner::SymbolMap renamed;
  for (Graph* graph : NestedGraphs(const_cast<Graph*>(&from))) {
    for (Node* node : graph->nodes()) {
      if (!node->op().has(kDataDependent)) continue;
      std::vector<SymInt> defined;
      for (int i = 0; i < node->num_results(); ++i) {
        CollectSymbols(node->result(i)->type(), &defined);
      }
      for (SymInt symbol : defined) {
        const SymbolInfo* info = from.module().symbols().Find(symbol);
        if (info == nullptr || !info->unbacked || renamed.contains(symbol)) {
          continue;
        }
        if (to->SymbolDefinition(symbol) != nullptr) {
          renamed[symbol] = symbols.Fresh("u", *info);
        } else {
          symbols.Declare(*info);
        }
      }
    }
  }
  cloner.Rename(std::move(renamed));
  std::vector<Value*> values(from.value_id_limit());
  for (int i = 0; i < from.num_inputs(); ++i) {
    values[from.input(i)->id()] = inputs[i];
    if (inputs[i] != nullptr) CopyNotes(from.input(i), inputs[i]);
  }
  cloner.CopyNodes(from, to, before == nullptr ? to->return_node() : before, &values);
  cloner.Finish();
  return GraphCloner::MapOutputs(from, values);
}

}  // namespace weft
