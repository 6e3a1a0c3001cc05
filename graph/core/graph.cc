#include "graph/core/graph.h"

#include <algorithm>
#include <new>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/core/check.h"

namespace weft {
namespace {

// The id of a node that was erased.
constexpr uint32_t kNoId = ~uint32_t{0};

}  // namespace

// --- Use, Value, Node ------------------------------------------------------

void Use::Link(Value* value) {
  value_ = value;
  if (value == nullptr) return;
  next_ = value->uses_;
  link_ = &value->uses_;
  if (next_ != nullptr) next_->link_ = &next_;
  value->uses_ = this;
}

void Use::Unlink() {
  if (value_ == nullptr) return;
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
  value_ = nullptr;
  next_ = nullptr;
  link_ = nullptr;
}

int Use::operand_index() const {
  return static_cast<int>(this - const_cast<const Node*>(user_)->uses());
}

void Value::set_type(Type type) {
  if (type_ == type) return;
  type_ = type;
  // An input knows its graph through its users; one without users has nothing
  // that could depend on its type.
  if (node_ != nullptr) return node_->graph()->Touch(node_);
  for (Use* use = uses_; use != nullptr; use = use->next()) {
    use->user()->graph()->Touch(use->user());
  }
}

void Value::ReplaceAllUsesWith(Value* other) {
  WEFT_CHECK(other != this);
  if (uses_ == nullptr) return;
  Graph* graph = uses_->user()->graph();
  while (uses_ != nullptr) {
    Use* use = uses_;
    graph->Touch(use->user());
    use->Unlink();
    use->Link(other);
  }
  if (node_ != nullptr) graph->Touch(node_);
}

bool Value::IsResultOf(const OpDef& op) const {
  return node_ != nullptr && node_->Is(op);
}

void Node::set_attr_list(const AttrList* attrs) {
  if (attrs_ == attrs) return;
  attrs_ = attrs;
  graph_->Touch(this);
}

void Node::set_operand(int i, Value* value) {
  WEFT_CHECK(i < num_operands_);
  Value* old = uses()[i].value();
  if (old == value) return;
  graph_->Touch(this);
  uses()[i].Unlink();
  uses()[i].Link(value);
  graph_->TouchLoser(old);
}

bool Node::has_uses() const {
  for (int i = 0; i < num_results_; ++i) {
    if (results()[i].has_uses()) return true;
  }
  return false;
}

int Node::num_regions() const {
  return regions_ == nullptr ? 0 : static_cast<int>(regions_->size());
}

Graph* Node::region(int i) const { return (*regions_)[i].get(); }

OpArgs Node::Args(ArgStorage* storage) const {
  storage->operands.clear();
  storage->types.clear();
  storage->regions.clear();
  for (int i = 0; i < num_operands_; ++i) {
    storage->operands.push_back(operand(i));
    storage->types.push_back(operand(i) ? operand(i)->type() : Type());
  }
  for (int i = 0; i < num_regions(); ++i) storage->regions.push_back(region(i));
  OpArgs args;
  args.op = op_;
  args.operands = storage->operands;
  args.types = storage->types;
  args.attr_list = attrs_;
  args.regions = storage->regions;
  args.symbols = &graph_->module().symbols();
  return args;
}

// --- Graph -----------------------------------------------------------------

Graph::Graph(Module* module, std::string name)
    : module_(module), name_(std::move(name)) {
  SetOutputs({});
}

Graph::~Graph() {
  // The arena frees nodes without running destructors; only nested graphs own
  // something. They are taken out first so that deep nesting does not recurse.
  std::vector<std::unique_ptr<Graph>> doomed;
  const auto take_regions = [&doomed](Graph* graph) {
    for (Node* node : graph->nodes()) {
      if (node->regions_ == nullptr) continue;
      for (auto& region : *node->regions_) doomed.push_back(std::move(region));
      delete node->regions_;
      node->regions_ = nullptr;
    }
  };
  take_regions(this);
  while (!doomed.empty()) {
    std::unique_ptr<Graph> graph = std::move(doomed.back());
    doomed.pop_back();
    take_regions(graph.get());
  }
}

void* Graph::Allocate(size_t bytes) {
  constexpr size_t kMaxBlockBytes = size_t{1} << 18;
  const size_t size_class = bytes / 8;
  if (size_class < free_lists_.size() && free_lists_[size_class] != nullptr) {
    void* memory = free_lists_[size_class];
    free_lists_[size_class] = *static_cast<void**>(memory);
    return memory;
  }
  if (static_cast<size_t>(block_end_ - block_pos_) < bytes) {
    const size_t size = std::max(bytes, next_block_bytes_);
    next_block_bytes_ = std::min(next_block_bytes_ * 2, kMaxBlockBytes);
    blocks_.emplace_back(new char[size]);
    if (bytes > kMaxBlockBytes / 4) return blocks_.back().get();
    block_pos_ = blocks_.back().get();
    block_end_ = block_pos_ + size;
  }
  void* memory = block_pos_;
  block_pos_ += bytes;
  return memory;
}

void Graph::Free(void* memory, size_t bytes) {
  constexpr size_t kMaxPooledBytes = 1024;
  if (bytes > kMaxPooledBytes) return;
  const size_t size_class = bytes / 8;
  if (size_class >= free_lists_.size()) free_lists_.resize(size_class + 1);
  *static_cast<void**>(memory) = free_lists_[size_class];
  free_lists_[size_class] = memory;
}

Value* Graph::AddInput(Type type, absl::string_view name) {
  std::string unique(name.empty() ? absl::StrCat("arg", inputs_.size())
                                  : std::string(name));
  for (int i = 0; !input_names_.insert(unique).second; ++i) {
    unique = absl::StrCat(name, "_", i);
  }
  Value* value = new (Allocate(sizeof(Value))) Value;
  value->type_ = type;
  value->id_ = next_value_id_++;
  value->index_ = static_cast<uint32_t>(inputs_.size());
  inputs_.push_back(value);
  InputInfo info;
  info.name = std::move(unique);
  input_infos_.push_back(std::move(info));
  ++epoch_;
  return value;
}

void Graph::SetOutputs(absl::Span<Value* const> outputs) {
  const std::vector<Value*> kept(outputs.begin(), outputs.end());
  if (return_node_ != nullptr) EraseNode(return_node_);
  return_node_ = nullptr;
  return_node_ =
      CreateRaw(ops::return_, kept, {}, AttrList::Empty(), {}, nullptr, {});
}

std::vector<Value*> Graph::outputs() const {
  std::vector<Value*> values;
  for (int i = 0; i < num_outputs(); ++i) values.push_back(output(i));
  return values;
}

void Graph::InsertBefore(Node* node, Node* before) {
  if (before == nullptr) {  // Only SetOutputs: the list has no return node.
    node->prev_ = first_ == nullptr ? nullptr : last_node_;
    (first_ == nullptr ? first_ : last_node_->next_) = node;
    return;
  }
  node->prev_ = before->prev_;
  node->next_ = before;
  if (before->prev_ != nullptr) {
    before->prev_->next_ = node;
  } else {
    first_ = node;
  }
  before->prev_ = node;
}

void Graph::RemoveFromList(Node* node) {
  if (node->prev_ != nullptr) {
    node->prev_->next_ = node->next_;
  } else {
    first_ = node->next_;
  }
  if (node->next_ != nullptr) {
    node->next_->prev_ = node->prev_;
  } else {
    last_node_ = node->prev_;
  }
  node->prev_ = nullptr;
  node->next_ = nullptr;
}

Node* Graph::CreateRaw(const OpDef& op, absl::Span<Value* const> operands,
                       absl::Span<Value* const> symbol_operands,
                       const AttrList* attrs,
                       absl::Span<const Type> result_types, Node* before,
                       std::vector<std::unique_ptr<Graph>> regions) {
  const size_t num_uses = operands.size() + symbol_operands.size();
  void* memory =
      Allocate(sizeof(Node) + result_types.size() * sizeof(Value) +
               num_uses * sizeof(Use));
  Node* node = new (memory) Node;
  node->op_ = &op;
  node->attrs_ = attrs;
  node->graph_ = this;
  node->id_ = next_node_id_++;
  node->origin_ = module_->origins().current();
  node->num_operands_ = static_cast<int32_t>(operands.size());
  node->num_symbol_operands_ = static_cast<int32_t>(symbol_operands.size());
  node->num_results_ = static_cast<int32_t>(result_types.size());
  if (!regions.empty()) {
    node->regions_ =
        new std::vector<std::unique_ptr<Graph>>(std::move(regions));
  }
  for (size_t i = 0; i < result_types.size(); ++i) {
    Value* value = new (node->results() + i) Value;
    value->type_ = result_types[i];
    value->node_ = node;
    value->id_ = next_value_id_++;
    value->index_ = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < num_uses; ++i) {
    Use* use = new (node->uses() + i) Use;
    use->user_ = node;
    use->Link(i < operands.size() ? operands[i]
                                  : symbol_operands[i - operands.size()]);
  }
  InsertBefore(node, before);
  if (before != nullptr) ++num_nodes_;
  num_region_nodes_ += node->regions_ != nullptr;
  Touch(node);
  if (op.has(kDataDependent)) DefineSymbols(node);
  return node;
}

Node* Graph::CreateNode(const OpDef& op, absl::Span<Value* const> operands,
                        const AttrList* attrs,
                        absl::Span<const Type> result_types, Node* before,
                        std::vector<std::unique_ptr<Graph>> regions) {
  std::vector<Value*> symbols;
  if (!symbol_definitions_.empty()) symbols = SymbolOperands(attrs, regions);
  return CreateRaw(op, operands, symbols, attrs, result_types,
                   before == nullptr ? return_node_ : before,
                   std::move(regions));
}

namespace {

void CollectSymbols(const AttrList* attrs, std::vector<SymInt>* out) {
  if (!attrs->is_symbolic()) return;
  for (const AttrValue& value : attrs->values()) {
    for (SymInt s : value.symints()) {
      ForEachSymbol(s, [out](SymInt symbol) { out->push_back(symbol); });
    }
  }
}

void CollectSymbols(Type type, std::vector<SymInt>* out) {
  const auto push = [out](SymInt symbol) { out->push_back(symbol); };
  if (type.is_symint()) ForEachSymbol(type.symint(), push);
  if (!type.is_tensor() || type.is_static()) return;
  for (SymInt d : type.dims()) ForEachSymbol(d, push);
}

// `root` and the graphs nested in it, outer before inner.
std::vector<Graph*> NestedGraphs(Graph* root) {
  std::vector<Graph*> graphs = {root};
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->num_region_nodes() == 0) continue;
    for (Node* node : graphs[i]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
      }
    }
  }
  return graphs;
}

}  // namespace

std::vector<Value*> Graph::SymbolOperands(
    const AttrList* attrs,
    const std::vector<std::unique_ptr<Graph>>& regions) const {
  std::vector<SymInt> symbols;
  CollectSymbols(attrs, &symbols);
  for (const auto& region : regions) {
    for (Graph* graph : NestedGraphs(region.get())) {
      for (Value* input : graph->inputs()) {
        CollectSymbols(input->type(), &symbols);
      }
      for (Node* node : graph->nodes()) {
        CollectSymbols(node->attr_list(), &symbols);
      }
    }
  }
  std::vector<Value*> values;
  for (SymInt symbol : symbols) {
    Value* value = SymbolDefinition(symbol);
    if (value != nullptr &&
        std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

void Graph::DefineSymbols(Node* node) {
  for (int i = 0; i < node->num_results(); ++i) {
    std::vector<SymInt> symbols;
    CollectSymbols(node->result(i)->type(), &symbols);
    for (SymInt symbol : symbols) {
      if (!module_->symbols().IsUnbacked(symbol)) continue;
      // A symbol that reaches the node from outside is not its own.
      bool inherited = false;
      for (int j = 0; j < node->num_operands(); ++j) {
        std::vector<SymInt> known;
        if (node->has_operand(j)) {
          CollectSymbols(node->operand(j)->type(), &known);
        }
        inherited |= std::find(known.begin(), known.end(), symbol) != known.end();
      }
      if (!inherited) symbol_definitions_[symbol] = node->result(i);
    }
  }
}

Value* Graph::SymbolDefinition(SymInt symbol) const {
  auto it = symbol_definitions_.find(symbol);
  return it == symbol_definitions_.end() ? nullptr : it->second;
}

void Graph::EraseNode(Node* node) {
  WEFT_CHECK(!node->has_uses()) << node->op().name() << " still has uses";
  for (int i = 0; i < node->num_operands_ + node->num_symbol_operands_; ++i) {
    Value* operand = node->uses()[i].value();
    node->uses()[i].Unlink();
    TouchLoser(operand);
  }
  if (node->op().has(kDataDependent)) {
    absl::erase_if(symbol_definitions_, [node](const auto& entry) {
      return entry.second->node() == node;
    });
  }
  if (node != return_node_) --num_nodes_;
  RemoveFromList(node);
  ++epoch_;
  num_region_nodes_ -= node->regions_ != nullptr;
  delete node->regions_;
  node->id_ = kNoId;
  Free(node, sizeof(Node) + node->num_results_ * sizeof(Value) +
                 (node->num_operands_ + node->num_symbol_operands_) *
                     sizeof(Use));
}

Node* Graph::UpdateAttrs(Node* node, const AttrList* attrs) {
  const std::vector<std::unique_ptr<Graph>> none;
  const std::vector<Value*> symbols =
      SymbolOperands(attrs, node->regions_ ? *node->regions_ : none);
  bool same = node->num_symbol_operands() == static_cast<int>(symbols.size());
  for (size_t i = 0; same && i < symbols.size(); ++i) {
    same = node->symbol_operand(static_cast<int>(i)) == symbols[i];
  }
  if (same) {
    node->set_attr_list(attrs);
    return node;
  }
  std::vector<Value*> operands;
  for (int i = 0; i < node->num_operands(); ++i) {
    operands.push_back(node->operand(i));
  }
  Types types;
  for (int i = 0; i < node->num_results(); ++i) {
    types.push_back(node->result(i)->type());
  }
  std::vector<std::unique_ptr<Graph>> regions;
  if (node->regions_ != nullptr) regions = std::move(*node->regions_);
  Node* updated = CreateRaw(node->op(), operands, symbols, attrs, types, node,
                            std::move(regions));
  updated->set_provenance(node->provenance());
  updated->set_origin(node->origin());
  for (int i = 0; i < node->num_results(); ++i) {
    node->result(i)->ReplaceAllUsesWith(updated->result(i));
  }
  EraseNode(node);
  return updated;
}

void Graph::MoveBefore(Node* node, Node* before) {
  if (node == before || node->next_ == before) return;
  RemoveFromList(node);
  InsertBefore(node, before == nullptr ? return_node_ : before);
  Touch(node);
}

void Graph::TouchLoser(const Value* value) {
  if (value == nullptr || changes_.empty()) return;
  if (value->node() != nullptr) return Touch(value->node());
  if (value->has_one_use()) Touch(value->first_use()->user());
}

void Graph::MarkClean(absl::string_view reader) {
  changes_.Mark(reader, module_->symbols().version());
}

std::optional<std::vector<Node*>> Graph::TouchedSince(
    absl::string_view reader) const {
  return changes_.Since(reader, module_->symbols().version());
}

void Graph::KeepInputs(absl::Span<const int> indices) {
  std::vector<Value*> inputs;
  std::vector<InputInfo> infos;
  input_names_.clear();
  for (int i : indices) {
    input_names_.insert(input_infos_[i].name);
    inputs_[i]->index_ = static_cast<uint32_t>(inputs.size());
    inputs.push_back(inputs_[i]);
    infos.push_back(std::move(input_infos_[i]));
  }
  inputs_ = std::move(inputs);
  input_infos_ = std::move(infos);
  ++epoch_;
}

// --- ConstantStore ---------------------------------------------------------

int ConstantStore::Add(HostTensor tensor, absl::string_view name) {
  std::vector<int>& same = by_fingerprint_[tensor.Fingerprint()];
  for (int id : same) {
    if (entries_[id].tensor.BitEqual(tensor)) {
      if (entries_[id].name.empty()) entries_[id].name = std::string(name);
      return id;
    }
  }
  same.push_back(size());
  entries_.push_back({std::move(tensor), std::string(name)});
  return size() - 1;
}

const HostTensor* LiteralOf(const Value* value) {
  if (value == nullptr || !value->IsResultOf(ops::constant)) return nullptr;
  const Node* node = value->node();
  const int64_t id = (*node->attr_list())[0].symints()[0].value();
  return &node->graph()->module().constants().tensor(static_cast<int>(id));
}

// --- Module ----------------------------------------------------------------

Graph* Module::AddFunction(absl::string_view name) {
  WEFT_CHECK(FindFunction(name) == nullptr) << "two functions called " << name;
  functions_.push_back(std::make_unique<Graph>(this, std::string(name)));
  return functions_.back().get();
}

Graph* Module::FindFunction(absl::string_view name) const {
  for (const auto& function : functions_) {
    if (function->name() == name) return function.get();
  }
  return nullptr;
}

std::vector<Graph*> Module::AllGraphs() const {
  std::vector<Graph*> graphs;
  for (const auto& function : functions_) {
    for (Graph* graph : NestedGraphs(function.get())) graphs.push_back(graph);
  }
  return graphs;
}

int64_t Module::num_nodes() const {
  int64_t n = 0;
  for (Graph* graph : AllGraphs()) n += graph->num_nodes();
  return n;
}

// Copies graphs node by node; nested graphs wait on a list, not on the stack.
class GraphCloner {
 public:
  using SymbolMap = absl::flat_hash_map<SymInt, SymInt>;

  // Moves constants and symbols over when the modules differ.
  GraphCloner(const Module& from, Module* to) : from_(from), to_(to) {}

  void Rename(SymbolMap renamed) { renamed_ = std::move(renamed); }
  // Both modules have the same table of origins.
  void CopyOrigins() { copies_origins_ = true; }

  // Copies nodes of `from` into `to` before `before`; `values` maps what the
  // nodes use from outside and is filled in.
  void CopyNodes(const Graph& from, Graph* to, Node* before,
                 std::vector<Value*>* values) {
    values->resize(from.value_id_limit());
    for (Node* node : from.nodes()) CopyNode(node, to, before, values);
  }

  void CopyGraph(const Graph& from, Graph* to) {
    std::vector<Value*> values(from.value_id_limit());
    for (int i = 0; i < from.num_inputs(); ++i) {
      InputInfo info = from.input_info(i);
      Value* input = to->AddInput(Convert(from.input(i)->type()), info.name);
      if (info.value >= 0) info.value = CopyConstant(info.value);
      to->input_info(i) = std::move(info);
      values[from.input(i)->id()] = input;
    }
    CopyNodes(from, to, to->return_node(), &values);
    to->SetOutputs(MapOutputs(from, values));
    to->output_names() = from.output_names();
  }

  // Copies the nested graphs met so far.
  void Finish() {
    while (!pending_.empty()) {
      auto [from, to] = pending_.back();
      pending_.pop_back();
      CopyGraph(*from, to);
    }
  }

  static std::vector<Value*> MapOutputs(const Graph& from,
                                        const std::vector<Value*>& values) {
    std::vector<Value*> outputs;
    for (int i = 0; i < from.num_outputs(); ++i) {
      outputs.push_back(values[from.output(i)->id()]);
    }
    return outputs;
  }

 private:
  void CopyNode(const Node* node, Graph* to, Node* before,
                std::vector<Value*>* values) {
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
      regions.push_back(
          std::make_unique<Graph>(&to->module(), node->region(i)->name()));
      pending_.push_back({node->region(i), regions.back().get()});
    }
    Node* copy = to->CreateRaw(node->op(), operands, symbols, CopyAttrs(node),
                               types, before, std::move(regions));
    copy->set_provenance(CopyProvenance(node->provenance()));
    if (copies_origins_) copy->set_origin(node->origin());
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
      const int id = static_cast<int>(node->attrs().Int("id"));
      return AttrList::Get({AttrValue(CopyConstant(id))});
    }
    if (renamed_.empty()) return node->attr_list();
    return node->attr_list()->Substitute(
        [this](SymInt s) { return Renamed(s); });
  }

  int CopyConstant(int id) {
    if (&from_ == to_) return id;
    auto [it, inserted] = constants_.emplace(id, 0);
    if (inserted) {
      it->second = to_->constants().Add(from_.constants().tensor(id),
                                        from_.constants().name(id));
    }
    return it->second;
  }

  ProvenanceId CopyProvenance(ProvenanceId id) {
    if (&from_ == to_ || id == 0) return id;
    auto [it, inserted] = provenance_.emplace(id, 0);
    if (inserted) {
      for (const std::string& name : from_.provenance().Names(id)) {
        it->second = to_->provenance().Merge(it->second,
                                             to_->provenance().Leaf(name));
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
  copy->constants_ = constants_;
  copy->symbols_ = symbols_;
  copy->origins_ = origins_;
  GraphCloner cloner(*this, copy.get());
  cloner.CopyOrigins();
  for (const auto& function : functions_) {
    cloner.CopyGraph(*function, copy->AddFunction(function->name()));
  }
  cloner.Finish();
  return copy;
}

std::vector<Value*> InlineGraph(const Graph& from,
                                absl::Span<Value* const> inputs, Graph* to,
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
  }
  cloner.CopyNodes(from, to, before == nullptr ? to->return_node() : before,
                   &values);
  cloner.Finish();
  return GraphCloner::MapOutputs(from, values);
}

}  // namespace weft
