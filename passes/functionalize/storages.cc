#include "passes/functionalize/storages.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"

namespace weft {

Storages::Storages(Builder* builder)
    : builder_(builder), view_of_(builder->graph()->value_id_limit(), -1) {}

void Storages::SetViewOf(const Value* value, int view) {
  if (value->id() >= view_of_.size()) view_of_.resize(value->id() + 1, -1);
  view_of_[value->id()] = view;
}

void Storages::AddBase(Value* value) {
  View view;
  view.storage = static_cast<int>(storages_.size());
  view.value = value;
  view.generation = 0;
  const int id = static_cast<int>(views_.size());
  views_.push_back(view);
  storages_.emplace_back();
  storages_.back().holders.push_back({id, nullptr});
  SetViewOf(value, id);
}

void Storages::AddView(Node* node, int result, const Value* viewed) {
  const int parent = ViewOf(viewed);
  const int next = static_cast<int>(views_.size());
  const auto [it, inserted] =
      by_key_.emplace(Key(parent, &node->op(), node->attr_list(), result), next);
  if (inserted) {
    View view;
    view.parent = parent;
    view.storage = views_[parent].storage;
    view.depth = views_[parent].depth + 1;
    view.op = &node->op();
    view.attrs = node->attr_list();
    view.result = result;
    view.provenance = node->provenance();
    views_.push_back(view);
  }
  View& view = views_[it->second];
  SetViewOf(node->result(result), it->second);
  if (IsValid(view) || !IsValid(views_[parent])) return;
  node->set_operand(node->op().schema().ViewedOperand(result), views_[parent].value);
  view.value = node->result(result);
  view.generation = views_[parent].generation;
}

void Storages::AddAlias(const Value* value, const Value* other) { SetViewOf(value, ViewOf(other)); }

bool Storages::Share(const Value* a, const Value* b) const {
  const int x = ViewOf(a);
  const int y = ViewOf(b);
  return x >= 0 && y >= 0 && views_[x].storage == views_[y].storage;
}

Value* Storages::Read(const Value* value) { return ReadView(ViewOf(value)); }

void Storages::MarkAncestors(int view) {
  ++query_;
  for (int v = view; v >= 0; v = views_[v].parent) views_[v].query = query_;
}

// Walks as far as the two are apart.
bool Storages::IsAncestor(int ancestor, int view) const {
  while (views_[view].depth > views_[ancestor].depth) view = views_[view].parent;
  return view == ancestor;
}

Value* Storages::ReadView(int id) {
  Storage& storage = storages_[views_[id].storage];
  if (!IsValid(views_[id])) {
    MarkAncestors(id);
    while (views_[storage.holders.back().view].query != query_) {
      SettleTop(&storage);
    }
    std::vector<int> path;
    for (int v = id; !IsValid(views_[v]); v = views_[v].parent) {
      path.push_back(v);
    }
    for (; !path.empty(); path.pop_back()) {
      Replay(path.back(), storage.generation);
    }
  }
  return builder_->status().ok() ? views_[id].value : nullptr;
}

void Storages::Write(const Value* value, Value* contents, const Node* writer) {
  const int id = ViewOf(value);
  Storage& storage = storages_[views_[id].storage];
  if (storage.holders.back().view != id) MarkAncestors(id);
  // A holder that is part of the view is overwritten; contents of any other holder are moved down.
  while (storage.holders.back().view != id && views_[storage.holders.back().view].query != query_) {
    if (IsAncestor(id, storage.holders.back().view)) {
      storage.holders.pop_back();
    } else {
      SettleTop(&storage);
    }
  }
  if (storage.holders.back().view != id) storage.holders.push_back({id, writer});
  storage.holders.back().writer = writer;
  views_[id].value = contents;
  views_[id].generation = ++storage.generation;
}

void Storages::Settle() {
  for (Storage& storage : storages_) {
    while (storage.holders.size() > 1) SettleTop(&storage);
  }
}

// Computes the view's value from that of its parent, and the other results of the same node.
void Storages::Replay(int id, int64_t generation) {
  const View view = views_[id];
  builder_->set_provenance(view.provenance);
  const uint32_t first_new = builder_->graph()->node_id_limit();
  const std::vector<Value*> values =
      builder_->Create(*view.op, {views_[view.parent].value}, view.attrs);
  num_replayed_ += builder_->graph()->node_id_limit() != first_new;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto it = by_key_.find(Key(view.parent, view.op, view.attrs, static_cast<int>(i)));
    if (it == by_key_.end()) continue;
    View& sibling = views_[it->second];
    if (sibling.generation >= generation) continue;
    sibling.value = values[i];
    sibling.generation = generation;
  }
  // Marked as current after an error too, so that it is not tried again.
  views_[id].generation = generation;
}

// The holder before the last takes over the contents of the last.
void Storages::SettleTop(Storage* storage) {
  const Holder top = storage->holders.back();
  storage->holders.pop_back();
  const int below = storage->holders.back().view;
  const int64_t old_generation = views_[below].generation;
  std::vector<int> path;  // From the parent of the last holder to `below`.
  for (int v = top.view; v != below; v = views_[v].parent) {
    path.push_back(views_[v].parent);
  }
  for (size_t i = path.size(); i-- > 0;) {
    if (views_[path[i]].generation != old_generation) {
      Replay(path[i], old_generation);
    }
  }
  int child = top.view;
  for (int parent : path) {
    if (top.writer != nullptr) {
      builder_->set_provenance(top.writer->provenance());
    }
    View& to = views_[parent];
    to.value = Invert(views_[child], to.value, views_[child].value);
    to.generation = storage->generation;
    child = parent;
  }
  if (!builder_->status().ok() && guilty_ == nullptr) guilty_ = top.writer;
}

Value* Storages::Invert(const View& view, Value* base, Value* update) {
  if (!builder_->status().ok()) return nullptr;
  if (view.op->invert_view() == nullptr) {
    return builder_->Fail(absl::UnimplementedError(
        absl::StrCat("a write through ", view.op->name(), ", which says no inverse")));
  }
  Value* const none = nullptr;
  const Type type = base->type();
  OpArgs args;
  args.op = view.op;
  args.operands = {&none, 1};
  args.types = {&type, 1};
  args.attr_list = view.attrs;
  args.symbols = &builder_->module().symbols();
  ++num_inverted_;
  return view.op->invert_view()(*builder_, args, view.result, base, update);
}

}  // namespace weft
