#include "graph/ir/annotations.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/quote.h"
#include "graph/ir/graph.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/node.h"
#include "graph/ir/note_table.h"
#include "graph/ir/value.h"

namespace weft {
namespace internal {

NoteTable::Place NoteTable::Of(const Node& user, int operand) {
  constexpr int kOperandBits = 31;
  return (uint64_t{1} << 63) | (uint64_t{user.id()} << kOperandBits) |
         static_cast<uint64_t>(operand);
}

const NoteTable::Notes* NoteTable::Find(Place place) const {
  if (notes_.empty()) return nullptr;
  const auto it = notes_.find(place);
  return it == notes_.end() ? nullptr : &it->second;
}

bool NoteTable::Set(Place place, absl::string_view key, absl::string_view text) {
  if (!text.empty()) {
    std::string& note = notes_[place][std::string(key)];
    if (note == text) return false;
    note = std::string(text);
    return true;
  }
  const auto it = notes_.find(place);
  if (it == notes_.end()) return false;
  const auto note = it->second.find(key);
  if (note == it->second.end()) return false;
  it->second.erase(note);
  if (it->second.empty()) notes_.erase(it);
  return true;
}

bool NoteTable::Add(Place to, const Notes& more) {
  Notes& notes = notes_[to];
  bool changed = false;
  for (const auto& [key, text] : more) changed |= notes.emplace(key, text).second;
  return changed;
}

void NoteTable::EraseNode(const Node& node) {
  for (int i = 0; i < node.num_results(); ++i) Erase(Of(*node.result(i)));
  for (int i = 0; i < node.num_operands(); ++i) Erase(Of(node, i));
}

bool NoteTable::EraseKey(absl::string_view key) {
  bool changed = false;
  for (auto it = notes_.begin(); it != notes_.end();) {
    const auto note = it->second.find(key);
    if (note != it->second.end()) {
      it->second.erase(note);
      changed = true;
    }
    if (it->second.empty()) {
      notes_.erase(it++);
    } else {
      ++it;
    }
  }
  return changed;
}

struct NoteAccess {
  static NoteTable& Table(const Graph& graph) { return graph.tables_->notes; }
  // The notes of `value` (of an operand of `user`) have changed.
  static void Touch(const Value& value) {
    if (value.node() != nullptr) return Touch(*value.node());
    ++value.graph()->epoch_;
  }
  static void Touch(const Node& user) { user.graph()->Touch(const_cast<Node*>(&user)); }
};

}  // namespace internal

namespace {

using internal::NoteAccess;
using internal::NoteTable;

const NoteTable::Notes* Find(const Value& value) {
  return NoteAccess::Table(*value.graph()).Find(NoteTable::Of(value));
}

const NoteTable::Notes* Find(const Node& user, int operand) {
  return NoteAccess::Table(*user.graph()).Find(NoteTable::Of(user, operand));
}

absl::string_view TextOf(const NoteTable::Notes* notes, absl::string_view key) {
  if (notes == nullptr) return "";
  const auto it = notes->find(key);
  return it == notes->end() ? absl::string_view() : absl::string_view(it->second);
}

std::vector<Note> ListOf(const NoteTable::Notes* notes) {
  std::vector<Note> list;
  if (notes == nullptr) return list;
  for (const auto& [key, text] : *notes) list.push_back({key, text});
  return list;
}

void CheckKey(absl::string_view key) {
  WEFT_CHECK(IsIdentifier(key) && key != "result" && key != "operand") << "the key " << key;
}

}  // namespace

absl::string_view FindNote(const Value* value, absl::string_view key) {
  return TextOf(Find(*value), key);
}

absl::string_view FindNote(const Node* user, int operand, absl::string_view key) {
  return TextOf(Find(*user, operand), key);
}

void SetNote(Value* value, absl::string_view key, absl::string_view text) {
  CheckKey(key);
  NoteTable& table = NoteAccess::Table(*value->graph());
  if (table.Set(NoteTable::Of(*value), key, text)) NoteAccess::Touch(*value);
}

void SetNote(Node* user, int operand, absl::string_view key, absl::string_view text) {
  CheckKey(key);
  WEFT_CHECK(operand >= 0 && operand < user->num_operands());
  NoteTable& table = NoteAccess::Table(*user->graph());
  if (table.Set(NoteTable::Of(*user, operand), key, text)) NoteAccess::Touch(*user);
}

void ClearNotes(Graph* graph, absl::string_view key) {
  if (NoteAccess::Table(*graph).EraseKey(key)) NoteAccess::Touch(*graph->return_node());
}

bool HasNotes(const Graph& graph) { return !NoteAccess::Table(graph).empty(); }

std::vector<Note> NotesOf(const Value* value) { return ListOf(Find(*value)); }

std::vector<Note> NotesOf(const Node* user, int operand) { return ListOf(Find(*user, operand)); }

void CopyNotes(const Value* from, Value* to) {
  const NoteTable::Notes* notes = Find(*from);
  if (notes == nullptr) return;
  // A copy, since both may lie in one table.
  const NoteTable::Notes copy = *notes;
  if (NoteAccess::Table(*to->graph()).Add(NoteTable::Of(*to), copy)) NoteAccess::Touch(*to);
}

void CopyNotes(const Node* from, Node* to) {
  if (!HasNotes(*from->graph())) return;
  for (int i = 0; i < std::min(from->num_results(), to->num_results()); ++i) {
    CopyNotes(from->result(i), to->result(i));
  }
  for (int i = 0; i < std::min(from->num_operands(), to->num_operands()); ++i) {
    const NoteTable::Notes* notes = Find(*from, i);
    if (notes == nullptr) continue;
    const NoteTable::Notes copy = *notes;
    if (NoteAccess::Table(*to->graph()).Add(NoteTable::Of(*to, i), copy)) NoteAccess::Touch(*to);
  }
}

}  // namespace weft
