// The verifier checks these invariants, in this order, graph by graph:
//
//   1 list        The nodes form one doubly linked list of num_nodes() nodes
//                 and, last, the only `return`; all belong to the graph.
//   2 ids         Ids of nodes and of values are distinct and below the graph's
//                 limits; results know their node and index.
//   3 order       Every operand and symbol operand is an input of this graph or
//                 a result of an earlier node of this graph. Nested graphs are
//                 isolated by the same rule.
//   4 uses        The use list of a value holds exactly the operand slots that
//                 hold the value.
//   5 operands    Count, absence and kind (tensor or symint) as in the schema.
//   6 attributes  One value per attribute of the schema, of its kind; absent
//                 only where that is optional.
//   7 regions     One graph per region of the schema, in the same module.
//   8 results     Count and kind as in the schema.
//   9 sizes       No invalid size in a type or attribute, no negative constant
//                 size in a type, and at most kMaxRank sizes.
//  10 types       The op accepts its operands, and each result type is the
//                 inferred one or a legal refinement. The results of
//                 data-dependent ops are held to 8 and 9 alone: their Infer
//                 defines fresh symbols.
//  11 constants   The id is in the constant store; the type is the tensor's.
//  12 symbols     An unbacked symbol is defined by one node of a graph. An
//                 attribute (also of a nested graph) that mentions one has an
//                 edge to that node, unless an input's type brings the symbol.
//  13 signature   Input names are unique and not empty; required and initial
//                 values lie in the constant store and fit the input's type;
//                 there are as many output names as outputs, or none.
//  14 writes      The inputs of the write-backs are distinct and in order, and
//                 each has an output of its dtype and rank; nested graphs have
//                 none. No node writes a constant, or a view of one.
#include "graph/verify/verifier.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/parts/text_parts.h"
#include "graph/verify/verifier_internal.h"

namespace weft {

using internal::BrokenInvariant;
using internal::Invariant;
using internal::IsSizeType;
using internal::NodeScratch;
using internal::VerifyNode;
using internal::VerifySignature;
using internal::VerifySymbols;
using internal::VerifyWrites;

namespace internal {

constexpr const char* kInvariantNames[] = {
    "",        "list",  "ids",   "order",     "uses",    "operands",  "attributes", "regions",
    "results", "sizes", "types", "constants", "symbols", "signature", "writes"};

absl::Status BrokenInvariant(Invariant invariant, const Graph& graph, const Node* node,
                             absl::string_view message) {
  const int number = static_cast<int>(invariant);
  std::string text = absl::StrCat("verifier: invariant ", number, " (", kInvariantNames[number],
                                  ") is broken: ", message, "\n  in graph \"",
                                  (node != nullptr ? *node->graph() : graph).name(), "\"");
  if (node == nullptr) return absl::InternalError(text);
  absl::StrAppend(&text, ", node ", node->id(), " (", node->op().name(), "):");
  constexpr int kMaxShown = 8;
  for (int i = 0; i < std::min(node->num_operands(), kMaxShown); ++i) {
    const Value* v = node->operand(i);
    if (v == nullptr) continue;
    absl::StrAppend(&text, "\n      ",
                    v->node() != nullptr
                        ? PrintNode(*v->node())
                        : absl::StrCat("input ", v->index(), ": ", v->type().ToString()));
  }
  absl::StrAppend(&text, "\n    > ", PrintNode(*node));
  return absl::InternalError(text);
}

}  // namespace internal

namespace {

class GraphVerifier {
 public:
  GraphVerifier(const Graph& graph, NodeScratch* scratch)
      : graph_(graph),
        scratch_(scratch),
        nodes_(graph.node_id_limit()),
        values_(graph.value_id_limit()) {}

  absl::Status Run() {
    if (CheckInputs() && CheckNodes() && CheckUses()) return VerifySignature(graph_);
    return std::move(status_);
  }

 private:
  bool Fail(Invariant invariant, const Node* node, absl::string_view message);

  bool CheckInputs();
  bool CheckNodes();
  bool CheckNode(const Node* node);
  bool CheckLinks(const Node* node, const Node* prev, int64_t position);
  bool CheckOrder(const Node* node);
  bool DefineResults(const Node* node);
  bool DefineValue(const Value* value, const Node* node);
  bool CheckUses();
  bool CheckUsesOf(const Value* value);

  const Graph& graph_;
  NodeScratch* scratch_;
  std::vector<const Node*> nodes_;    // By id, the nodes visited so far.
  std::vector<const Value*> values_;  // By id, the values defined so far.
  int64_t num_slots_ = 0;             // Operand slots that hold a value.
  int64_t num_uses_ = 0;              // Entries of use lists.
  absl::Status status_;
};

bool GraphVerifier::Fail(Invariant invariant, const Node* node, absl::string_view message) {
  if (status_.ok()) {
    status_ = BrokenInvariant(invariant, graph_, node, message);
  }
  return false;
}

bool GraphVerifier::CheckInputs() {
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const Value* input = graph_.input(i);
    if (input->node() != nullptr || input->index() != i) {
      return Fail(Invariant::kIds, nullptr, absl::StrCat("input ", i, " does not know its place"));
    }
    if (!DefineValue(input, nullptr)) return false;
    if (input->type().kind() == Type::Kind::kNone || !IsSizeType(input->type())) {
      return Fail(Invariant::kSizes, nullptr,
                  absl::StrCat("input ", i, " has type ", input->type().ToString()));
    }
  }
  return true;
}

bool GraphVerifier::CheckNodes() {
  const Node* prev = nullptr;
  int64_t position = 0;
  for (const Node* node = graph_.first_node(); node != nullptr; prev = node, node = node->next()) {
    if (!CheckLinks(node, prev, position++) || !CheckNode(node)) return false;
  }
  if (prev != graph_.return_node() || position != graph_.num_nodes() + 1) {
    return Fail(
        Invariant::kList, prev,
        absl::StrCat("the list has ", position, " nodes, the last is not the return node or ",
                     "num_nodes() is not ", position - 1));
  }
  return true;
}

bool GraphVerifier::CheckNode(const Node* node) {
  if (!CheckOrder(node)) return false;
  status_ = VerifyNode(*node, scratch_);
  return status_.ok() && DefineResults(node);
}

bool GraphVerifier::CheckLinks(const Node* node, const Node* prev, int64_t position) {
  if (position > graph_.num_nodes()) {
    return Fail(Invariant::kList, node, "more nodes than num_nodes() and a return");
  }
  if (node->prev() != prev) return Fail(Invariant::kList, node, "wrong link to the left");
  if (node->graph() != &graph_) {
    return Fail(Invariant::kList, node, "the node belongs to another graph");
  }
  if (node->Is(ops::return_) != (node == graph_.return_node())) {
    return Fail(Invariant::kList, node, "a return that is not the graph's");
  }
  if (node->id() >= nodes_.size() || nodes_[node->id()] != nullptr) {
    return Fail(Invariant::kIds, node, "the node's id is taken or out of range");
  }
  nodes_[node->id()] = node;
  return true;
}

bool GraphVerifier::CheckOrder(const Node* node) {
  const int n = node->num_operands();
  const int all = n + node->num_symbol_operands();
  for (int i = 0; i < all; ++i) {
    const Value* v = i < n ? node->operand(i) : node->symbol_operand(i - n);
    if (v == nullptr) continue;
    ++num_slots_;
    if (v->id() < values_.size() && values_[v->id()] == v) continue;
    return Fail(Invariant::kOrder, node,
                absl::StrCat(i < n ? "operand " : "symbol operand ", i < n ? i : i - n,
                             " is not defined before the node in its graph"));
  }
  return true;
}

bool GraphVerifier::DefineResults(const Node* node) {
  for (int i = 0; i < node->num_results(); ++i) {
    const Value* v = node->result(i);
    if (v->node() != node || v->index() != i) {
      return Fail(Invariant::kIds, node, absl::StrCat("result ", i, " is not its own"));
    }
    if (!DefineValue(v, node)) return false;
  }
  return true;
}

bool GraphVerifier::DefineValue(const Value* value, const Node* node) {
  if (value->id() >= values_.size() || values_[value->id()] != nullptr) {
    return Fail(Invariant::kIds, node,
                absl::StrCat("value id ", value->id(), " is taken or out of range"));
  }
  values_[value->id()] = value;
  return true;
}

bool GraphVerifier::CheckUses() {
  for (const Value* value : values_) {
    if (value != nullptr && !CheckUsesOf(value)) return false;
  }
  if (num_uses_ != num_slots_) {
    return Fail(
        Invariant::kUses, nullptr,
        absl::StrCat("the use lists have ", num_uses_, " entries for ", num_slots_, " operands"));
  }
  return true;
}

bool GraphVerifier::CheckUsesOf(const Value* value) {
  for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
    if (++num_uses_ > num_slots_) {
      return Fail(Invariant::kUses, value->node(),
                  absl::StrCat("the use lists have more than ", num_slots_, " entries"));
    }
    const Node* user = use->user();
    if (user != nullptr && user->graph() != &graph_) {
      return Fail(Invariant::kOrder, user,
                  absl::StrCat("it uses a value of graph \"", graph_.name(), "\""));
    }
    if (user == nullptr || use->value() != value || user->id() >= nodes_.size() ||
        nodes_[user->id()] != user) {
      return Fail(Invariant::kUses, value->node(),
                  absl::StrCat("value ", value->id(), " lists a use that is not in the graph"));
    }
    const int slot = use->operand_index();
    if (slot < 0 || slot >= user->num_operands() + user->num_symbol_operands()) {
      return Fail(Invariant::kUses, user, "a use lies outside of its user's operands");
    }
  }
  return true;
}

absl::Status VerifyGraphs(absl::Span<const Graph* const> graphs,
                          const absl::flat_hash_set<const Graph*>& roots) {
  NodeScratch scratch;
  for (const Graph* graph : graphs) {
    WEFT_RETURN_IF_ERROR(GraphVerifier(*graph, &scratch).Run());
    WEFT_RETURN_IF_ERROR(VerifyWrites(*graph, roots.contains(graph)));
  }
  return VerifySymbols(graphs, roots);
}

}  // namespace

bool IsLegalRefinement(Type type, Type inferred, const SymbolTable& symbols) {
  if (type == inferred) return true;
  if (type.kind() != inferred.kind()) return false;
  if (type.is_symint()) {
    return symbols.ProveEq(type.symint(), inferred.symint()) != Proof::kNo;
  }
  if (type.dtype() != inferred.dtype() || type.rank() != inferred.rank()) {
    return false;
  }
  for (int i = 0; i < type.rank(); ++i) {
    if (symbols.ProveEq(type.dim(i), inferred.dim(i)) == Proof::kNo) {
      return false;
    }
  }
  return true;
}

absl::Status Verify(const Module& module) {
  absl::flat_hash_set<absl::string_view> names;
  absl::flat_hash_set<const Graph*> roots;
  std::vector<const Graph*> graphs;
  for (const auto& function : module.functions()) {
    if (!names.insert(function->name()).second) {
      return absl::InternalError(
          absl::StrCat("verifier: two functions are called \"", function->name(), "\""));
    }
    roots.insert(function.get());
  }
  for (Graph* graph : module.AllGraphs()) graphs.push_back(graph);
  return VerifyGraphs(graphs, roots);
}

absl::Status Verify(const Graph& graph) {
  std::vector<const Graph*> graphs = {&graph};
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const Node* node : graphs[i]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
      }
    }
  }
  return VerifyGraphs(graphs, {&graph});
}

}  // namespace weft
