// Graph: its nodes, their memory and their order.
#include "graph/ir/graph.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/annotations.h"
#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/sym/sym_facts.h"

namespace weft {

namespace {

// The id of an erased node.
constexpr uint32_t kNoId = ~uint32_t{0};

}  // namespace

Graph::Graph(Module* module, std::string name)
    : module_(module), name_(std::move(name)), tables_(std::make_unique<internal::GraphTables>()) {
  SetOutputs({});
}

Graph::~Graph() {
  // The arena frees nodes without running destructors, and nested graphs are the only members that
  // need one. They are taken out first, so that deep nesting does not recurse.
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
  std::string unique(name.empty() ? absl::StrCat("arg", inputs_.size()) : std::string(name));
  for (int i = 0; !tables_->input_names.insert(unique).second; ++i) {
    unique = absl::StrCat(name, "_", i);
  }
  Value* value = new (Allocate(sizeof(Value) + sizeof(Graph*))) Value;
  *reinterpret_cast<Graph**>(value + 1) = this;
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
  return_node_ = CreateRaw(ops::return_, kept, {}, AttrList::Empty(), {}, nullptr, {});
}

void Graph::SetWriteBacks(std::vector<int> inputs) {
  write_backs_ = std::move(inputs);
  ++epoch_;
}

int Graph::num_outputs() const { return return_node_->num_operands(); }

Value* Graph::output(int i) const { return return_node_->operand(i); }

std::vector<Value*> Graph::outputs() const {
  std::vector<Value*> values;
  for (int i = 0; i < num_outputs(); ++i) values.push_back(output(i));
  return values;
}

NodeRange Graph::nodes() const { return {first_, return_node_}; }

void Graph::InsertBefore(Node* node, Node* before) {
  if (before == nullptr) {  // Only in SetOutputs: the list has no return node then.
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
                       absl::Span<Value* const> symbol_operands, const AttrList* attrs,
                       absl::Span<const Type> result_types, Node* before,
                       std::vector<std::unique_ptr<Graph>> regions) {
  const size_t num_uses = operands.size() + symbol_operands.size();
  void* memory =
      Allocate(sizeof(Node) + result_types.size() * sizeof(Value) + num_uses * sizeof(Use));
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
    node->regions_ = new std::vector<std::unique_ptr<Graph>>(std::move(regions));
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
    use->Link(i < operands.size() ? operands[i] : symbol_operands[i - operands.size()]);
  }
  InsertBefore(node, before);
  if (before != nullptr) ++num_nodes_;
  num_region_nodes_ += node->regions_ != nullptr;
  num_write_nodes_ += op.writes();
  Touch(node);
  if (op.has(kDataDependent)) DefineSymbols(node);
  return node;
}

Node* Graph::CreateNode(const OpDef& op, absl::Span<Value* const> operands, const AttrList* attrs,
                        absl::Span<const Type> result_types, Node* before,
                        std::vector<std::unique_ptr<Graph>> regions) {
  std::vector<Value*> symbols;
  if (!tables_->symbol_definitions.empty()) symbols = SymbolOperands(attrs, regions);
  return CreateRaw(op, operands, symbols, attrs, result_types,
                   before == nullptr ? return_node_ : before, std::move(regions));
}

void Graph::EraseNode(Node* node) {
  WEFT_CHECK(!node->has_uses()) << node->op().name() << " still has uses";
  for (int i = 0; i < node->num_operands_ + node->num_symbol_operands_; ++i) {
    Value* operand = node->uses()[i].value();
    node->uses()[i].Unlink();
    TouchLoser(operand);
  }
  if (node->op().has(kDataDependent)) {
    absl::erase_if(tables_->symbol_definitions,
                   [node](const auto& entry) { return entry.second->node() == node; });
  }
  if (!tables_->notes.empty()) tables_->notes.EraseNode(*node);
  if (node != return_node_) --num_nodes_;
  RemoveFromList(node);
  ++epoch_;
  num_region_nodes_ -= node->regions_ != nullptr;
  num_write_nodes_ -= node->op().writes();
  delete node->regions_;
  node->id_ = kNoId;
  Free(node, sizeof(Node) + node->num_results_ * sizeof(Value) +
                 (node->num_operands_ + node->num_symbol_operands_) * sizeof(Use));
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
  Node* updated = CreateRaw(node->op(), operands, symbols, attrs, types, node, std::move(regions));
  updated->set_provenance(node->provenance());
  updated->set_origin(node->origin());
  CopyNotes(node, updated);
  for (int i = 0; i < node->num_results(); ++i) {
    node->result(i)->ReplaceAllUsesWith(updated->result(i));
  }
  EraseNode(node);
  return updated;
}

std::vector<std::unique_ptr<Graph>> Graph::TakeRegions(Node* node) {
  std::vector<std::unique_ptr<Graph>> regions;
  if (node->regions_ != nullptr) regions.swap(*node->regions_);
  Touch(node);
  return regions;
}

void Graph::MoveBefore(Node* node, Node* before) {
  if (node == before || node->next_ == before) return;
  RemoveFromList(node);
  InsertBefore(node, before == nullptr ? return_node_ : before);
  Touch(node);
}

void Graph::Touch(Node* node) {
  ++epoch_;
  tables_->changes.Touch(node, node->id(), num_nodes_);
}

void Graph::TouchLoser(const Value* value) {
  if (value == nullptr || tables_->changes.empty()) return;
  if (value->node() != nullptr) return Touch(value->node());
  if (value->has_one_use()) Touch(value->first_use()->user());
}

void Graph::HandOnNotes(const Value& value, Value* by) {
  internal::NoteTable& table = tables_->notes;
  if (table.empty() || by == nullptr) return;
  CopyNotes(&value, by);
  table.Erase(internal::NoteTable::Of(value));
}

void Graph::MarkClean(absl::string_view reader) {
  tables_->changes.Mark(reader, epoch_, module_->symbols().version());
}

bool Graph::IsClean(absl::string_view reader) const {
  return tables_->changes.IsAt(reader, epoch_, module_->symbols().version());
}

std::optional<std::vector<Node*>> Graph::TouchedSince(absl::string_view reader) const {
  return tables_->changes.Since(reader, module_->symbols().version());
}

void Graph::KeepInputs(absl::Span<const int> indices) {
  std::vector<Value*> inputs;
  std::vector<InputInfo> infos;
  std::vector<int> places(inputs_.size(), -1);
  tables_->input_names.clear();
  for (int i : indices) {
    places[i] = static_cast<int>(inputs.size());
    tables_->input_names.insert(input_infos_[i].name);
    inputs_[i]->index_ = static_cast<uint32_t>(inputs.size());
    inputs.push_back(inputs_[i]);
    infos.push_back(std::move(input_infos_[i]));
  }
  for (int& input : write_backs_) {
    WEFT_CHECK(places[input] >= 0) << "input " << input << " is written back";
    input = places[input];
  }
  if (!tables_->notes.empty()) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (places[i] < 0) tables_->notes.Erase(internal::NoteTable::Of(*inputs_[i]));
    }
  }
  inputs_ = std::move(inputs);
  input_infos_ = std::move(infos);
  ++epoch_;
}

}  // namespace weft
