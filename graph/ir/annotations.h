// Notes of passes about values and operands, kept beside the graph.
//
// A note is a text under a key, such as `quant` for the parameters that a value is to be quantized
// with. It changes nothing that the graph computes, is printed after the node (or the input) that
// it belongs to and is read back. A rewrite that replaces a value hands its notes to the new
// value, which keeps its own of the same key (Value::ReplaceAllUsesWith); a note about an operand
// ends with its node.
//
// Keys are identifiers other than `result` and `operand`; a key that no pass reads is kept like
// any other. A change of a note is an edit of the graph (Graph::epoch).
//
// Cost: a table of its own, empty in most graphs; O(1) for each look-up.
#ifndef WEFT_GRAPH_IR_ANNOTATIONS_H_
#define WEFT_GRAPH_IR_ANNOTATIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft {

class Graph;
class Node;
class Value;

// The note under `key`, or empty. Views stay valid until the note is changed.
absl::string_view FindNote(const Value* value, absl::string_view key);
absl::string_view FindNote(const Node* user, int operand, absl::string_view key);

// Sets the note; an empty text removes it.
void SetNote(Value* value, absl::string_view key, absl::string_view text);
void SetNote(Node* user, int operand, absl::string_view key, absl::string_view text);

// Removes the notes under `key` of a graph, nested graphs excluded.
void ClearNotes(Graph* graph, absl::string_view key);

// Whether any value or operand of the graph has a note, nested graphs excluded.
bool HasNotes(const Graph& graph);

struct Note {
  absl::string_view key;
  absl::string_view text;
};
// All notes of one place, by key.
std::vector<Note> NotesOf(const Value* value);
std::vector<Note> NotesOf(const Node* user, int operand);

// Copies the notes of `from`, also from another graph; `to` keeps its own of the same key.
void CopyNotes(const Value* from, Value* to);
// The notes about the operands, and about the results, that both nodes have.
void CopyNotes(const Node* from, Node* to);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_ANNOTATIONS_H_
