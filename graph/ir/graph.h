// The graph: modules, graphs, nodes and values.
//
// Ownership: a Module owns its functions (Graphs), its constants and its facts
// about symbols; a Graph owns its nodes and values in an arena; a Node owns its
// nested graphs. Nested graphs are isolated: they see nothing but their inputs.
//
// Order: the nodes of a graph form a list that is always topological; ids are
// dense, given in order of creation and never reused. Nothing depends on the
// order of addresses.
//
// Cost: a binary node with one result takes 176 bytes. All edits here are O(1)
// in the graph (replacing uses is linear in the uses).
#ifndef WEFT_GRAPH_IR_GRAPH_H_
#define WEFT_GRAPH_IR_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/change_log.h"
#include "graph/ir/op.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

class Graph;
class Module;
class Node;
class Value;

// One operand slot of a node: an edge from a value to its user.
class Use {
 public:
  Value* value() const { return value_; }
  Node* user() const { return user_; }
  // Next use of the same value.
  Use* next() const { return next_; }
  // Position among the user's operands.
  int operand_index() const;

 private:
  friend class Graph;
  friend class Node;
  friend class Value;
  void Link(Value* value);
  void Unlink();

  Value* value_ = nullptr;
  Node* user_ = nullptr;
  Use* next_ = nullptr;
  Use** link_ = nullptr;  // The pointer that points here.
};

// An input of a graph or a result of a node.
class Value {
 public:
  Type type() const { return type_; }
  // For refinement: the new type must describe the same values.
  void set_type(Type type);
  // The defining node; null for a graph input.
  Node* node() const { return node_; }
  bool is_input() const { return node_ == nullptr; }
  // Which result or which graph input this is.
  int index() const { return static_cast<int>(index_); }
  uint32_t id() const { return id_; }

  Use* first_use() const { return uses_; }
  bool has_uses() const { return uses_ != nullptr; }
  bool has_one_use() const { return uses_ != nullptr && !uses_->next(); }
  void ReplaceAllUsesWith(Value* other);
  // True when defined by a node of that op.
  bool IsResultOf(const OpDef& op) const;

 private:
  friend class Graph;
  friend class Use;
  Type type_;
  Node* node_ = nullptr;
  Use* uses_ = nullptr;
  uint32_t id_ = 0;
  uint32_t index_ = 0;
};

class Node {
 public:
  const OpDef& op() const { return *op_; }
  bool Is(const OpDef& op) const { return op_ == &op; }
  uint32_t id() const { return id_; }
  Graph* graph() const { return graph_; }

  // Operands in the schema's order; null for an absent optional one.
  int num_operands() const { return num_operands_; }
  Value* operand(int i) const { return uses()[i].value(); }
  bool has_operand(int i) const { return i < num_operands() && operand(i) != nullptr; }
  void set_operand(int i, Value* value);
  Use* use(int i) { return &uses()[i]; }

  // Edges to the definitions of unbacked symbols in the attributes, after the
  // operands. They order the graph and mean nothing else.
  int num_symbol_operands() const { return num_symbol_operands_; }
  Value* symbol_operand(int i) const { return uses()[num_operands_ + i].value(); }

  int num_results() const { return num_results_; }
  Value* result(int i = 0) const { return const_cast<Value*>(&results()[i]); }
  bool has_uses() const;

  Attrs attrs() const { return Attrs(&op_->schema(), attrs_); }
  const AttrList* attr_list() const { return attrs_; }
  // For refinement of symbolic attributes.
  void set_attr_list(const AttrList* attrs);

  int num_regions() const;
  Graph* region(int i) const;

  ProvenanceId provenance() const { return provenance_; }
  void set_provenance(ProvenanceId id) { provenance_ = id; }
  // Who made it, and from what: an id in Module::origins().
  OriginId origin() const { return origin_; }
  void set_origin(OriginId id) { origin_ = id; }

  Node* prev() const { return prev_; }
  Node* next() const { return next_; }

  // Operand values and types, attributes and regions as OpArgs; the vectors
  // hold what the spans point to.
  struct ArgStorage {
    std::vector<Value*> operands;
    std::vector<Type> types;
    std::vector<Graph*> regions;
  };
  OpArgs Args(ArgStorage* storage) const;

 private:
  friend class Graph;
  friend class GraphCloner;
  friend class Use;
  // Memory layout: Node, then results, then uses.
  Value* results() { return reinterpret_cast<Value*>(this + 1); }
  const Value* results() const { return reinterpret_cast<const Value*>(this + 1); }
  Use* uses() { return reinterpret_cast<Use*>(results() + num_results_); }
  const Use* uses() const { return reinterpret_cast<const Use*>(results() + num_results_); }

  const OpDef* op_ = nullptr;
  const AttrList* attrs_ = nullptr;
  Graph* graph_ = nullptr;
  Node* prev_ = nullptr;
  Node* next_ = nullptr;
  std::vector<std::unique_ptr<Graph>>* regions_ = nullptr;
  uint32_t id_ = 0;
  ProvenanceId provenance_ = 0;
  int32_t num_operands_ = 0;
  int32_t num_results_ = 0;
  int32_t num_symbol_operands_ = 0;
  OriginId origin_ = 0;
};

// What a signature says of a graph input beside its type.
struct InputInfo {
  std::string name;
  // Name of the model's parameter that this input stands for, if any.
  std::string param;
  // The program holds only for this value of the input: an id in the constant
  // store, or -1. Executors check it.
  int value = -1;
  // What the input is when the caller gives nothing: an id in the constant
  // store, or -1. A parameter's value, or the first state of a buffer; a
  // session keeps what the program writes to such an input.
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
  // Names are set by AddInput alone.
  InputInfo& input_info(int i) { return input_infos_[i]; }
  const InputInfo& input_info(int i) const { return input_infos_[i]; }

  // Outputs: the operands of the return node.
  void SetOutputs(absl::Span<Value* const> outputs);
  int num_outputs() const { return return_node_->num_operands(); }
  Value* output(int i) const { return return_node_->operand(i); }
  std::vector<Value*> outputs() const;
  Node* return_node() const { return return_node_; }
  // Empty, or one name for each output.
  std::vector<std::string>& output_names() { return output_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }

  // Write-backs: the last outputs are the new values of these inputs, in
  // ascending order; whoever runs the graph stores them. Nodes that write
  // (Tensor(a!)) do so by themselves and are not listed.
  const std::vector<int>& write_backs() const { return write_backs_; }
  void SetWriteBacks(std::vector<int> inputs);
  // Without the write-backs.
  int num_own_outputs() const { return num_outputs() - static_cast<int>(write_backs_.size()); }

  // Makes a node before `before` (null: before the return node). Neither
  // checks nor folds: passes and importers use Builder or Rewriter.
  Node* CreateNode(const OpDef& op, absl::Span<Value* const> operands, const AttrList* attrs,
                   absl::Span<const Type> result_types, Node* before = nullptr,
                   std::vector<std::unique_ptr<Graph>> regions = {});
  // The results must have no uses.
  void EraseNode(Node* node);
  // Gives `node` other attributes (for refinement) and brings its edges to the
  // definitions of symbols up to date. Returns the node, or one that has taken
  // its place, uses and nested graphs.
  Node* UpdateAttrs(Node* node, const AttrList* attrs);
  // Takes the nested graphs out of a node that is about to be replaced.
  std::vector<std::unique_ptr<Graph>> TakeRegions(Node* node);
  // `node` and `before` in this graph; the caller keeps the order topological.
  void MoveBefore(Node* node, Node* before);
  // Gives up unused inputs or reorders them: keeps those listed.
  void KeepInputs(absl::Span<const int> indices);

  // Nodes in order, the return node excluded. Erasing the current node while
  // iterating is allowed.
  class NodeIterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Node*;
    using difference_type = ptrdiff_t;
    using pointer = Node**;
    using reference = Node*;
    explicit NodeIterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
    Node* operator*() const { return node_; }
    NodeIterator& operator++() {
      node_ = next_;
      next_ = node_ ? node_->next() : nullptr;
      return *this;
    }
    friend bool operator==(NodeIterator a, NodeIterator b) { return a.node_ == b.node_; }
    friend bool operator!=(NodeIterator a, NodeIterator b) { return !(a == b); }

   private:
    Node* node_;
    Node* next_;
  };
  struct NodeRange {
    Node* first;
    Node* last;
    NodeIterator begin() const { return NodeIterator(first); }
    NodeIterator end() const { return NodeIterator(last); }
  };
  NodeRange nodes() const { return {first_, return_node_}; }
  Node* first_node() const { return first_; }  // The return node when empty.
  // Nodes in the list, the return node and nested graphs excluded.
  int64_t num_nodes() const { return num_nodes_; }
  // Ids of nodes (values) are below this.
  uint32_t node_id_limit() const { return next_node_id_; }
  uint32_t value_id_limit() const { return next_value_id_; }
  // Grows with every edit: equal epochs mean an untouched graph.
  uint64_t epoch() const { return epoch_; }
  // For edits that were taken back: the graph is what it was at `epoch`.
  void RestoreEpoch(uint64_t epoch) { epoch_ = epoch; }

  // For passes that come again: `reader` has nothing to do on the graph as it
  // is now, given the module's facts about symbols.
  void MarkClean(absl::string_view reader);
  // Nothing at all has changed since then.
  bool IsClean(absl::string_view reader) const;
  // The nodes edited since then (made, given other operands, attributes or
  // types, or with a result that lost a use); nothing when that is not known.
  std::optional<std::vector<Node*>> TouchedSince(absl::string_view reader) const;
  // How many nodes hold nested graphs.
  int64_t num_region_nodes() const { return num_region_nodes_; }
  // How many nodes write an operand; without those of nested graphs.
  int64_t num_write_nodes() const { return num_write_nodes_; }

  // The value whose node defines an unbacked symbol; null when it is not
  // defined in this graph.
  Value* SymbolDefinition(SymInt symbol) const;

 private:
  friend class Node;
  friend class Value;
  friend class GraphCloner;
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
  void Touch(Node* node) {
    ++epoch_;
    changes_.Touch(node, node->id(), num_nodes_);
  }
  // A use of `value` went away.
  void TouchLoser(const Value* value);
  void InsertBefore(Node* node, Node* before);
  void RemoveFromList(Node* node);

  Module* module_;
  std::string name_;
  std::vector<Value*> inputs_;
  std::vector<InputInfo> input_infos_;
  absl::flat_hash_set<std::string> input_names_;
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
  ChangeLog changes_;
  absl::flat_hash_map<SymInt, Value*> symbol_definitions_;

  // Arena: blocks, and lists of freed nodes by size (in units of 8 bytes).
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* block_pos_ = nullptr;
  char* block_end_ = nullptr;
  size_t next_block_bytes_ = 1024;
  std::vector<void*> free_lists_;
};

// Tensors by content: equal tensors share one id.
class ConstantStore {
 public:
  int Add(HostTensor tensor, absl::string_view name = "");
  const HostTensor& tensor(int id) const { return entries_[id].tensor; }
  // Of the model's initializer, when it had one.
  const std::string& name(int id) const { return entries_[id].name; }
  int size() const { return static_cast<int>(entries_.size()); }
  // Computed from other constants, not part of the program as it came.
  void MarkDerived(int id) { entries_[id].derived = true; }
  bool derived(int id) const { return entries_[id].derived; }

 private:
  struct Entry {
    HostTensor tensor;
    std::string name;
    bool derived = false;
  };
  std::vector<Entry> entries_;
  absl::flat_hash_map<uint64_t, std::vector<int>> by_fingerprint_;
};

class Module {
 public:
  // `registry` outlives the module.
  explicit Module(const OpRegistry& registry) : registry_(&registry) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const OpRegistry& registry() const { return *registry_; }
  // The name must be free.
  Graph* AddFunction(absl::string_view name);
  Graph* FindFunction(absl::string_view name) const;
  // In order of their creation. `main` is what executors run.
  const std::vector<std::unique_ptr<Graph>>& functions() const { return functions_; }
  Graph* main() const { return FindFunction("main"); }

  ConstantStore& constants() { return constants_; }
  const ConstantStore& constants() const { return constants_; }
  SymbolTable& symbols() { return symbols_; }
  const SymbolTable& symbols() const { return symbols_; }
  ProvenanceTable& provenance() { return provenance_; }
  const ProvenanceTable& provenance() const { return provenance_; }
  OriginTable& origins() { return origins_; }
  const OriginTable& origins() const { return origins_; }

  // All graphs, nested ones included, outer before inner; iterative.
  std::vector<Graph*> AllGraphs() const;
  // Nodes of all graphs.
  int64_t num_nodes() const;
  // True when a node of any graph writes an operand. Such a module is closed
  // to everything that takes an operand's value for what it was when the
  // operand was made: folds, merging, moving. `functionalize` opens it.
  bool HasWrites() const;
  // A deep copy with the same ids order, constants shared.
  std::unique_ptr<Module> Clone() const;

 private:
  const OpRegistry* registry_;
  std::vector<std::unique_ptr<Graph>> functions_;
  ConstantStore constants_;
  SymbolTable symbols_;
  ProvenanceTable provenance_;
  OriginTable origins_;
};

// The value that result `value` is a view of, or null; and the value that it
// stands for after its node wrote that, or null.
Value* ViewedBy(const Value* value);
Value* WrittenAs(const Value* value);

// The literal of a `constant` node's result; null for other values.
const HostTensor* LiteralOf(const Value* value);

// Copies the nodes of `from` (not its return) into `to` before `before`,
// mapping its inputs to `inputs`; returns the values of its outputs. Both lie
// in modules with the same constants (or `from`'s are added).
std::vector<Value*> InlineGraph(const Graph& from, absl::Span<Value* const> inputs, Graph* to,
                                Node* before);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_GRAPH_H_
