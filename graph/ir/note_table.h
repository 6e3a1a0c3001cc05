// The notes of a graph by place; annotations.h is the interface to them.
#ifndef WEFT_GRAPH_IR_NOTE_TABLE_H_
#define WEFT_GRAPH_IR_NOTE_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/ir/value.h"

namespace weft {

class Node;

namespace internal {

// A map of texts for each value or operand that has one.
class NoteTable {
 public:
  // Texts by key. The nodes of a std::map stay where they are, and so do views of the texts.
  using Notes = std::map<std::string, std::string, std::less<>>;
  // A value or an operand of this graph, by ids.
  using Place = uint64_t;

  static Place Of(const Value& value) { return value.id(); }
  static Place Of(const Node& user, int operand);

  bool empty() const { return notes_.empty(); }
  // Null when there are none.
  const Notes* Find(Place place) const;
  // An empty text removes the note. False when nothing changed.
  bool Set(Place place, absl::string_view key, absl::string_view text);
  // The notes of `more` whose key `to` lacks. False when nothing changed.
  bool Add(Place to, const Notes& more);
  void Erase(Place place) { notes_.erase(place); }
  // Those about the operands and the results.
  void EraseNode(const Node& node);
  bool EraseKey(absl::string_view key);

 private:
  absl::flat_hash_map<Place, Notes> notes_;
};

}  // namespace internal
}  // namespace weft

#endif  // WEFT_GRAPH_IR_NOTE_TABLE_H_
