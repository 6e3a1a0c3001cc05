#include "passes/engine/pass_manager/fingerprint.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/text/text.h"

namespace weft {
namespace {

uint64_t HashNotes(uint64_t hash, const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    hash = FastHashCombine(hash, Fnv1a(note.text, Fnv1a(note.key)));
  }
  return hash;
}

// By node id: whether an output or an effect depends on it.
std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(graph.node_id_limit());
  for (const Node* node = graph.return_node(); node != nullptr; node = node->prev()) {
    if (node == graph.return_node() || !node->op().is_pure()) live[node->id()] = true;
    if (!live[node->id()]) continue;
    const int n = node->num_operands();
    for (int i = 0; i < n + node->num_symbol_operands(); ++i) {
      const Value* v = i < n ? node->operand(i) : node->symbol_operand(i - n);
      if (v != nullptr && v->node() != nullptr) live[v->node()->id()] = true;
    }
  }
  return live;
}

using Nodes = std::vector<const Fingerprint::LiveNode*>;

// The nodes of `a` that `b` lacks, as multisets over `key`.
Nodes Missing(const Nodes& a, const Nodes& b, uint64_t Fingerprint::LiveNode::*key) {
  absl::flat_hash_map<uint64_t, int64_t> counts;
  for (const auto* node : b) ++counts[node->*key];
  Nodes missing;
  for (const auto* node : a) {
    auto it = counts.find(node->*key);
    if (it != counts.end() && it->second-- > 0) continue;
    missing.push_back(node);
  }
  return missing;
}

Nodes All(const Fingerprint& fingerprint) {
  Nodes nodes;
  for (const auto& node : fingerprint.nodes()) nodes.push_back(&node);
  return nodes;
}

void Describe(const Nodes& nodes, absl::string_view sign, int limit,
              std::vector<std::string>* lines) {
  const int n = static_cast<int>(nodes.size());
  for (int i = 0; i < std::min(n, limit); ++i) {
    lines->push_back(absl::StrCat(sign, " ", PrintNode(*nodes[i]->node)));
  }
  if (n > limit) lines->push_back(absl::StrCat(sign, " ... ", n - limit, " more"));
}

}  // namespace

Fingerprint::Fingerprint(const Module& module) {
  const std::vector<Graph*> graphs = module.AllGraphs();
  // Inner graphs are first, because the nodes that own them use their hashes.
  for (auto it = graphs.rbegin(); it != graphs.rend(); ++it) AddGraph(**it);
  for (const auto& function : module.functions()) {
    value_ = FastHashCombine(value_, graphs_[function.get()]);
  }
}

uint64_t Fingerprint::LocalHash(const Node& node) const {
  uint64_t hash = FastHashCombine(reinterpret_cast<uintptr_t>(&node.op()),
                                  reinterpret_cast<uintptr_t>(node.attr_list()));
  for (int i = 0; i < node.num_results(); ++i) {
    hash = FastHashCombine(hash, absl::Hash<Type>()(node.result(i)->type()));
  }
  for (int i = 0; i < node.num_regions(); ++i) {
    hash = FastHashCombine(hash, graphs_.at(node.region(i)));
  }
  if (!HasNotes(*node.graph())) return hash;
  for (int i = 0; i < node.num_results(); ++i) {
    hash = HashNotes(FastHashCombine(hash, i), NotesOf(node.result(i)));
  }
  for (int i = 0; i < node.num_operands(); ++i) {
    hash = HashNotes(FastHashCombine(hash, ~uint64_t{0} - i), NotesOf(&node, i));
  }
  return hash;
}

void Fingerprint::AddGraph(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  std::vector<uint64_t> values(graph.value_id_limit());
  for (int i = 0; i < graph.num_inputs(); ++i) {
    values[graph.input(i)->id()] = HashNotes(FastHashCombine(1, i), NotesOf(graph.input(i)));
  }
  const auto with_operands = [&](const Node& node, uint64_t hash) {
    for (int i = 0; i < node.num_operands(); ++i) {
      const Value* v = node.operand(i);
      hash = FastHashCombine(hash, v == nullptr ? 2 : values[v->id()]);
    }
    return hash;
  };
  uint64_t sum = 0;  // Does not depend on the order of the nodes.
  for (const Node* node : graph.nodes()) {
    if (!live[node->id()]) continue;
    const uint64_t local = LocalHash(*node);
    const uint64_t hash = with_operands(*node, local);
    for (int i = 0; i < node->num_results(); ++i) {
      values[node->result(i)->id()] = FastHashCombine(hash, i);
    }
    nodes_.push_back({node, hash, local});
    sum += FastHashCombine(hash, 3);
  }
  graphs_[&graph] = with_operands(*graph.return_node(), sum);
}

std::vector<std::string> DescribeDifference(const Module& before, const Module& after, int limit) {
  const Fingerprint a(before), b(after);
  const Nodes all_a = All(a), all_b = All(b);
  const Nodes went = Missing(all_a, all_b, &Fingerprint::LiveNode::hash);
  const Nodes came = Missing(all_b, all_a, &Fingerprint::LiveNode::hash);
  Nodes went_alone = Missing(went, came, &Fingerprint::LiveNode::local);
  Nodes came_alone = Missing(came, went, &Fingerprint::LiveNode::local);
  const bool wiring = went_alone.empty() && came_alone.empty();
  std::vector<std::string> lines;
  Describe(wiring ? went : went_alone, "-", limit, &lines);
  Describe(wiring ? came : came_alone, "+", limit, &lines);
  return lines;
}

}  // namespace weft
