// The graph. The rest of the IR is in module.h, node.h and value.h.
//
// Ownership: a Module owns its functions (Graphs), its constants and its facts
// about symbols; a Graph owns its nodes and values in an arena; a Node owns its
// nested graphs. Nested graphs are isolated: they see nothing but their inputs.
//
// Order: the nodes of a graph form a list that is always topological; ids are
// dense, given in order of creation and never reused. Nothing depends on the
// order of addresses.
//
// Cost: all edits here are O(1) in the graph (replacing uses is linear in the uses).
#ifndef WEFT_GRAPH_IR_GRAPH_H_
#define WEFT_GRAPH_IR_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

class AttrList;
class Module;
class Node;
class OpDef;
class SymInt;
class Type;
class Value;
struct NodeRange;

namespace internal {
struct GraphTables;
struct NoteAccess;
}  // namespace internal

// Properties of a graph input other than its type.
struct InputInfo {
  std::string name;
  // Name of the model's parameter that this input stands for, if any.
  std::string param;
  // The program is valid only for this value of the input, which executors check: an id in the
  // constant store, or -1 if any value is valid.
  int value = -1;
  // The value of the input if the caller gives none: an id in the constant store, or -1. It is the
  // value of a parameter, or the first state of a buffer, in which case a session keeps what the
  // program writes.
  int initial = -1;
};

class Graph {
 public:
  Graph(Module* module, std::string name);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Module& module() const { return *module_; }
  const std::string& name() const { return name_; }

  // Inputs. Names are made unique.
  Value* AddInput(Type type, absl::string_view name = "");
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  Value* input(int i) const { return inputs_[i]; }
  absl::Span<Value* const> inputs() const { return inputs_; }
  // The name must not be changed: AddInput keeps names unique.
  InputInfo& input_info(int i) { return input_infos_[i]; }
  const InputInfo& input_info(int i) const { return input_infos_[i]; }

  // Outputs: the operands of the return node.
  void SetOutputs(absl::Span<Value* const> outputs);
  int num_outputs() const;
  Value* output(int i) const;
  std::vector<Value*> outputs() const;
  Node* return_node() const { return return_node_; }
  // Empty, or one name per output.
  std::vector<std::string>& output_names() { return output_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }

  // Write-backs: the last outputs are the new values of these inputs, in ascending order; the
  // executor stores them at the end of a run. Nodes that write (Tensor(a!)) do so by themselves and
  // are not listed.
  const std::vector<int>& write_backs() const { return write_backs_; }
  void SetWriteBacks(std::vector<int> inputs);
  // Number of outputs that are not write-backs.
  int num_own_outputs() const { return num_outputs() - static_cast<int>(write_backs_.size()); }

  // Makes a node before `before` (null: before the return node). Neither
  // checks nor folds: passes and importers use Builder or Rewriter.
  Node* CreateNode(const OpDef& op, absl::Span<Value* const> operands, const AttrList* attrs,
                   absl::Span<const Type> result_types, Node* before = nullptr,
                   std::vector<std::unique_ptr<Graph>> regions = {});
  // The results must have no uses.
  void EraseNode(Node* node);
  // Gives `node` other attributes (for refinement) and updates its edges to the definitions of
  // symbols. Returns the node, or a new one that replaces it and has its uses and nested graphs.
  Node* UpdateAttrs(Node* node, const AttrList* attrs);
  // Moves the nested graphs out of a node that is about to be replaced.
  std::vector<std::unique_ptr<Graph>> TakeRegions(Node* node);
  // Moves `node` before `before`, both in this graph; the caller keeps the order topological.
  void MoveBefore(Node* node, Node* before);
  // Keeps the inputs listed, in that order; the others must be unused.
  void KeepInputs(absl::Span<const int> indices);

  // The nodes in order, the return node excluded, for loops (node.h). Erasing the
  // current node while iterating is allowed.
  NodeRange nodes() const;
  Node* first_node() const { return first_; }  // The return node when empty.
  // Nodes in the list, the return node and nested graphs excluded.
  int64_t num_nodes() const { return num_nodes_; }
  // Upper bounds of the ids of nodes and of values.
  uint32_t node_id_limit() const { return next_node_id_; }
  uint32_t value_id_limit() const { return next_value_id_; }
  // Grows with every edit: equal epochs mean an untouched graph.
  uint64_t epoch() const { return epoch_; }
  // Undoes edits that were reverted: the graph is equal to what it was at `epoch`.
  void RestoreEpoch(uint64_t epoch) { epoch_ = epoch; }

  // For passes that run again: `reader` has nothing to do on the present graph with the present
  // facts about symbols.
  void MarkClean(absl::string_view reader);
  // True if nothing has changed since then.
  bool IsClean(absl::string_view reader) const;
  // The nodes edited since then (made, given other operands, attributes or types, or with a result
  // that lost a use); nullopt if that is not known.
  std::optional<std::vector<Node*>> TouchedSince(absl::string_view reader) const;
  // Number of nodes that hold nested graphs.
  int64_t num_region_nodes() const { return num_region_nodes_; }
  // Number of nodes that write an operand, those of nested graphs excluded.
  int64_t num_write_nodes() const { return num_write_nodes_; }

  // The value whose node defines an unbacked symbol; null if this graph does not define it.
  Value* SymbolDefinition(SymInt symbol) const;

 private:
  friend class Node;
  friend class Value;
  friend class GraphCloner;
  friend struct internal::NoteAccess;
  // CreateNode with the edges to symbol definitions given.
  Node* CreateRaw(const OpDef& op, absl::Span<Value* const> operands,
                  absl::Span<Value* const> symbol_operands, const AttrList* attrs,
                  absl::Span<const Type> result_types, Node* before,
                  std::vector<std::unique_ptr<Graph>> regions);
  std::vector<Value*> SymbolOperands(const AttrList* attrs,
                                     const std::vector<std::unique_ptr<Graph>>& regions) const;
  void DefineSymbols(Node* node);
  void* Allocate(size_t bytes);
  void Free(void* memory, size_t bytes);
  // Records that `node` was made or edited.
  void Touch(Node* node);
  // `by` takes the place of `value`.
  void HandOnNotes(const Value& value, Value* by);
  // A use of `value` went away.
  void TouchLoser(const Value* value);
  void InsertBefore(Node* node, Node* before);
  void RemoveFromList(Node* node);

  Module* module_;
  std::string name_;
  std::vector<Value*> inputs_;
  std::vector<InputInfo> input_infos_;
  std::vector<std::string> output_names_;
  std::vector<int> write_backs_;
  Node* first_ = nullptr;
  // The node before a missing return node, while SetOutputs replaces it.
  Node* last_node_ = nullptr;
  Node* return_node_ = nullptr;
  int64_t num_nodes_ = 0;
  uint32_t next_node_id_ = 0;
  uint32_t next_value_id_ = 0;
  uint64_t epoch_ = 0;
  int64_t num_region_nodes_ = 0;
  int64_t num_write_nodes_ = 0;
  // Behind a pointer, so that this header does not include their containers.
  std::unique_ptr<internal::GraphTables> tables_;

  // Arena: blocks, and lists of freed nodes by size (in units of 8 bytes).
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* block_pos_ = nullptr;
  char* block_end_ = nullptr;
  size_t next_block_bytes_ = 1024;
  std::vector<void*> free_lists_;
};

// Copies the nodes of `from` (not its return) into `to` before `before`,
// mapping its inputs to `inputs`; returns the values of its outputs. Both lie
// in modules with the same constants (or `from`'s are added).
std::vector<Value*> InlineGraph(const Graph& from, absl::Span<Value* const> inputs, Graph* to,
                                Node* before);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_GRAPH_H_
