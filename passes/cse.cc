// One sweep per graph in topological order: when a node is visited, its operands are merged
// already, so equal expressions have equal operands. Commutative operands are in the builder's
// canonical order.
//
// Not merged: nodes with nested graphs, nodes with effects, nodes that define unbacked symbols (two
// `nonzero` of one value have different lengths as far as the types know), and nodes with different
// result types.
//
// The table uses open addressing with a power of two of entries. An entry is an index in the list
// of distinct nodes and 32 bits of the hash, so that a probe accesses a node only if the hash
// agrees.
#include "passes/cse.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

// Addresses may enter: the order of the table reaches nothing.
uint64_t HashNode(const Node& node) {
  uint64_t hash = FastHashCombine(reinterpret_cast<uintptr_t>(&node.op()),
                                  reinterpret_cast<uintptr_t>(node.attr_list()));
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* operand = node.operand(i);
    hash = FastHashCombine(hash, operand == nullptr ? ~uint64_t{0} : operand->id());
  }
  return hash;
}

bool Equal(const Node& a, const Node& b) {
  if (&a.op() != &b.op() || a.attr_list() != b.attr_list() ||
      a.num_operands() != b.num_operands() || a.num_results() != b.num_results()) {
    return false;
  }
  for (int i = 0; i < a.num_operands(); ++i) {
    if (a.operand(i) != b.operand(i)) return false;
  }
  for (int i = 0; i < a.num_results(); ++i) {
    if (a.result(i)->type() != b.result(i)->type()) return false;
  }
  return true;
}

class NodeTable {
 public:
  // Room for `num_nodes` nodes; forgets all.
  void Reset(int64_t num_nodes) {
    size_t size = 16;
    while (size < static_cast<size_t>(num_nodes) + num_nodes / 3) size *= 2;
    entries_.assign(size, Entry());
    nodes_.clear();
    nodes_.reserve(num_nodes);
  }

  // A node equal to `node` met before, or null; then `node` is met.
  Node* FindOrAdd(Node* node) {
    const uint64_t hash = HashNode(*node);
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    const size_t mask = entries_.size() - 1;
    size_t slot = hash & mask;
    for (; entries_[slot].position != 0; slot = (slot + 1) & mask) {
      if (entries_[slot].tag != tag) continue;
      Node* other = nodes_[entries_[slot].position - 1];
      if (Equal(*other, *node)) return other;
    }
    nodes_.push_back(node);
    entries_[slot] = {tag, static_cast<uint32_t>(nodes_.size())};
    return nullptr;
  }

 private:
  struct Entry {
    uint32_t tag = 0;
    uint32_t position = 0;  // In nodes_, from 1; 0: free.
  };
  std::vector<Entry> entries_;
  std::vector<Node*> nodes_;
};

// Returns how many nodes were merged into others.
int64_t MergeEqualNodes(Graph& graph, NodeTable* table) {
  ProvenanceTable& provenance = graph.module().provenance();
  table->Reset(graph.num_nodes());
  int64_t merged = 0;
  for (Node* node : graph.nodes()) {
    if (!node->op().is_mergeable() || node->num_regions() != 0) continue;
    Node* other = table->FindOrAdd(node);
    if (other == nullptr) continue;
    for (int i = 0; i < node->num_results(); ++i) {
      node->result(i)->ReplaceAllUsesWith(other->result(i));
    }
    other->set_provenance(provenance.Merge(other->provenance(), node->provenance()));
    other->set_origin(graph.module().origins().Merge(other->origin(), node->origin()));
    CopyNotes(node, other);
    graph.EraseNode(node);
    ++merged;
  }
  return merged;
}

class CsePass : public Pass {
 public:
  absl::string_view name() const override { return "cse"; }
  absl::string_view doc() const override { return "Merges nodes that compute the same value."; }
  absl::Status Run(Module& module, PassContext& context) override {
    NodeTable table;
    int64_t merged = 0;
    for (Graph* graph : module.AllGraphs()) {
      merged += MergeEqualNodes(*graph, &table);
    }
    context.Count("merged", merged);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateCsePass() { return std::make_unique<CsePass>(); }

}  // namespace weft
