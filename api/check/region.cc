#include "api/check/region.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"

namespace weft {
namespace {

using SymbolSet = absl::flat_hash_set<SymInt>;

void AddSymbols(Type type, SymbolSet* symbols) {
  const auto add = [&](SymInt s) { symbols->insert(s); };
  if (type.is_symint()) ForEachSymbol(type.symint(), add);
  if (!type.is_tensor() || type.is_static()) return;
  for (SymInt d : type.dims()) ForEachSymbol(d, add);
}

// Adds the symbols of a node and of its nested graphs.
void AddSymbols(const Node& node, SymbolSet* mentioned, SymbolSet* defined) {
  if (node.attr_list()->is_symbolic()) {
    for (const AttrValue& value : node.attr_list()->values()) {
      for (SymInt s : value.symints()) {
        ForEachSymbol(s, [&](SymInt symbol) { mentioned->insert(symbol); });
      }
    }
  }
  const SymbolTable& table = node.graph()->module().symbols();
  for (int i = 0; i < node.num_results(); ++i) {
    SymbolSet of_result;
    AddSymbols(node.result(i)->type(), &of_result);
    for (SymInt s : of_result) {
      mentioned->insert(s);
      if (node.op().has(kDataDependent) && table.IsUnbacked(s)) {
        defined->insert(s);
      }
    }
  }
  for (int i = 0; i < node.num_regions(); ++i) {
    for (const Node* inner : node.region(i)->nodes()) {
      AddSymbols(*inner, mentioned, defined);
    }
    for (Value* input : node.region(i)->inputs()) {
      AddSymbols(input->type(), mentioned);
    }
  }
}

void Collect(const RegionSpec& spec, SymbolSet* mentioned, SymbolSet* defined) {
  for (const Node* node : spec.nodes) AddSymbols(*node, mentioned, defined);
  for (Type type : spec.input_types) AddSymbols(type, mentioned);
}

// Copies nodes into a fresh module.
class Copier {
 public:
  explicit Copier(Module* to) : to_(to) {}

  int Constant(const Module& from, int id) {
    auto [it, inserted] = constants_.emplace(std::make_pair(&from, id), 0);
    if (inserted) {
      it->second = to_->constants().Add(from.constants().tensor(id), from.constants().name(id));
    }
    return it->second;
  }

  // Recursion depth is the nesting depth of graphs.
  void Copy(const Node& node, Graph* to) {
    std::vector<Value*> operands;
    for (int i = 0; i < node.num_operands(); ++i) {
      operands.push_back(node.operand(i) ? at(node.operand(i)) : nullptr);
    }
    std::vector<Type> types;
    for (int i = 0; i < node.num_results(); ++i) {
      types.push_back(node.result(i)->type());
    }
    std::vector<std::unique_ptr<Graph>> regions;
    for (int i = 0; i < node.num_regions(); ++i) {
      regions.push_back(std::make_unique<Graph>(to_, node.region(i)->name()));
      CopyNested(*node.region(i), regions.back().get());
    }
    const AttrList* attrs = node.attr_list();
    if (node.Is(ops::constant)) {
      const int id = ops::ConstantView(node).id();
      attrs = AttrList::Get({Constant(node.graph()->module(), id)});
    }
    Node* copy = to->CreateNode(node.op(), operands, attrs, types, nullptr, std::move(regions));
    copy->set_provenance(Provenance(node.graph()->module(), node.provenance()));
    CopyNotes(&node, copy);
    for (int i = 0; i < node.num_results(); ++i) {
      values_[node.result(i)] = copy->result(i);
    }
  }

  void Map(const Value* from, Value* to) { values_[from] = to; }
  void Alias(const Value* value, const Value* by) { aliases_[value] = by; }
  Value* at(const Value* from) const {
    const auto alias = aliases_.find(from);
    return values_.at(alias == aliases_.end() ? from : alias->second);
  }

 private:
  void CopyNested(const Graph& from, Graph* to) {
    for (int i = 0; i < from.num_inputs(); ++i) {
      Map(from.input(i), to->AddInput(from.input(i)->type(), from.input_info(i).name));
    }
    for (const Node* node : from.nodes()) Copy(*node, to);
    std::vector<Value*> outputs;
    for (Value* output : from.outputs()) outputs.push_back(at(output));
    to->SetOutputs(outputs);
    to->output_names() = from.output_names();
  }

  ProvenanceId Provenance(const Module& from, ProvenanceId id) {
    constexpr size_t kMaxNames = 8;
    auto [it, inserted] = provenance_.emplace(std::make_pair(&from, id), 0);
    if (!inserted || id == 0) return it->second;
    ProvenanceId copy = 0;
    for (const std::string& name : from.provenance().Names(id, kMaxNames)) {
      copy = to_->provenance().Merge(copy, to_->provenance().Leaf(name));
    }
    return it->second = copy;
  }

  Module* to_;
  absl::flat_hash_map<const Value*, Value*> values_;
  absl::flat_hash_map<const Value*, const Value*> aliases_;
  absl::flat_hash_map<std::pair<const Module*, int>, int> constants_;
  absl::flat_hash_map<std::pair<const Module*, ProvenanceId>, ProvenanceId> provenance_;
};

void DeclareSymbols(const Graph& graph, const RegionSpec& spec, absl::Span<const SymInt> more,
                    Module* module) {
  SymbolSet mentioned, defined;
  Collect(spec, &mentioned, &defined);
  mentioned.insert(more.begin(), more.end());
  for (const SymbolInfo& info : graph.module().symbols().symbols()) {
    if (!mentioned.contains(info.symbol)) continue;
    SymbolInfo copy = info;
    copy.unbacked = defined.contains(info.symbol);
    module->symbols().Declare(copy);
  }
  if (!spec.conditions) return;
  for (const SymCondition& fact : graph.module().symbols().conditions()) {
    bool known = true;
    ForEachSymbol(fact.condition, [&](SymInt s) { known = known && mentioned.contains(s); });
    if (known) module->symbols().Restore(fact.condition, fact.origin);
  }
}

}  // namespace

std::vector<SymInt> FreeSymbols(const Graph& graph, const RegionSpec& spec) {
  SymbolSet mentioned, defined;
  Collect(spec, &mentioned, &defined);
  std::vector<SymInt> free;
  for (const SymbolInfo& info : graph.module().symbols().symbols()) {
    if (mentioned.erase(info.symbol) > 0 && !defined.contains(info.symbol)) {
      free.push_back(info.symbol);
    }
  }
  // Adds the symbols without facts.
  const size_t known = free.size();
  for (SymInt symbol : mentioned) {
    if (!defined.contains(symbol)) free.push_back(symbol);
  }
  std::sort(free.begin() + known, free.end(), [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
  return free;
}

RegionSpec RegionUpTo(const Graph& graph, absl::Span<const Value* const> outputs,
                      const absl::flat_hash_set<const Value*>& boundary) {
  RegionSpec spec;
  spec.outputs.assign(outputs.begin(), outputs.end());
  absl::flat_hash_set<const Node*> needed;
  std::vector<const Value*> stack(outputs.rbegin(), outputs.rend());
  while (!stack.empty()) {
    const Value* value = stack.back();
    stack.pop_back();
    if (value->is_input() || boundary.contains(value)) {
      const int next = static_cast<int>(spec.input_types.size());
      if (!spec.inputs.emplace(value, next).second) continue;
      const InputInfo* info = value->is_input() ? &graph.input_info(value->index()) : nullptr;
      spec.input_types.push_back(value->type());
      spec.input_names.push_back(info != nullptr ? info->name : "");
      spec.input_values.push_back(info != nullptr ? info->value : -1);
      continue;
    }
    const Node* node = value->node();
    if (!needed.insert(node).second) continue;
    const int n = node->num_operands();
    for (int i = n + node->num_symbol_operands(); i-- > 0;) {
      Value* operand = i < n ? node->operand(i) : node->symbol_operand(i - n);
      // A size that an input defines is used without its definition.
      if (operand != nullptr && (i < n || !boundary.contains(operand))) stack.push_back(operand);
    }
  }
  for (const Node* node : graph.nodes()) {
    if (needed.contains(node)) spec.nodes.push_back(node);
  }
  return spec;
}

std::vector<SymInt> Unbound(absl::Span<const SymInt> symbols, absl::Span<const Type> types) {
  absl::flat_hash_set<SymInt> bound;
  for (Type type : types) {
    if (type.is_symint()) bound.insert(type.symint());
    if (!type.is_tensor()) continue;
    for (SymInt d : type.dims()) bound.insert(d);
  }
  std::vector<SymInt> unbound;
  for (SymInt s : symbols) {
    if (!bound.contains(s)) unbound.push_back(s);
  }
  return unbound;
}

absl::StatusOr<std::unique_ptr<Module>> CutRegion(const Graph& graph, const RegionSpec& spec,
                                                  absl::Span<const SymInt> symint_inputs) {
  auto module = std::make_unique<Module>(graph.module().registry());
  Graph* main = module->AddFunction("main");
  DeclareSymbols(graph, spec, symint_inputs, module.get());
  Copier copier(module.get());
  for (SymInt symbol : symint_inputs) main->AddInput(Type::Symbolic(symbol));
  const int first = main->num_inputs();
  for (size_t i = 0; i < spec.input_types.size(); ++i) {
    main->AddInput(spec.input_types[i],
                   i < spec.input_names.size() ? spec.input_names[i] : std::string());
    if (i < spec.input_values.size() && spec.input_values[i] >= 0) {
      main->input_info(first + static_cast<int>(i)).value =
          copier.Constant(graph.module(), spec.input_values[i]);
    }
  }
  for (const auto& [value, index] : spec.inputs) {
    copier.Map(value, main->input(first + index));
    CopyNotes(value, main->input(first + index));
  }
  for (const auto& [value, by] : spec.aliases) copier.Alias(value, by);
  for (const Node* node : spec.nodes) copier.Copy(*node, main);
  std::vector<Value*> outputs;
  for (const Value* output : spec.outputs) outputs.push_back(copier.at(output));
  main->SetOutputs(outputs);
  WEFT_RETURN_IF_ERROR(Verify(*module));
  return module;
}

std::string TextKey(const Module& module) {
  PrintOptions options;
  options.locations = false;
  options.constants = false;
  std::string key = PrintModule(module, options);
  for (int i = 0; i < module.constants().size(); ++i) {
    absl::StrAppend(&key, module.constants().tensor(i).Fingerprint(), " ");
  }
  return key;
}

}  // namespace weft
