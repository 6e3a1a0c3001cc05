#include "api/inspect/graph_align.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace weft {
namespace {

constexpr int kRounds = 4;  // Distance that labels cover.

uint64_t HashText(absl::string_view text) {
  uint64_t h = text.size();
  for (char c : text) h = HashCombine(h, static_cast<unsigned char>(c));
  return h;
}

uint64_t OwnLabel(const Node& node) {
  uint64_t h = HashCombine(HashText(node.op().name()), DiffSide::AttrLabel(node));
  for (int i = 0; i < node.num_results(); ++i) h = HashCombine(h, node.result(i)->type().hash());
  return h;
}

class Aligner {
 public:
  Aligner(DiffSide* a, DiffSide* b) : a_(*a), b_(*b) {}

  void Run() {
    ByProvenance();
    for (int round = 0; round < kRounds; ++round) {
      a_.Refine();
      b_.Refine();
    }
    // Aligns equal neighbourhoods in order, then equal nodes that are unique.
    ByKey(a_.labels, b_.labels, /*unique=*/false);
    ByOutputs();
    Propagate();
    ByKey(a_.own, b_.own, /*unique=*/true);
    Propagate();
  }

 private:
  bool Match(int i, int k) {
    if (i < 0 || k < 0 || a_.partner[i] >= 0 || b_.partner[k] >= 0) return false;
    if (&a_.nodes[i]->op() != &b_.nodes[k]->op()) return false;
    a_.partner[i] = k;
    b_.partner[k] = i;
    return true;
  }

  static uint64_t ProvenanceKey(const Node& node) {
    const auto names = node.graph()->module().provenance().Names(node.provenance());
    if (names.empty()) return 0;
    return HashCombine(HashText(node.op().name()), HashText(absl::StrJoin(names, "\n")));
  }

  void ByProvenance() {
    std::vector<uint64_t> a, b;
    for (const Node* node : a_.nodes) a.push_back(ProvenanceKey(*node));
    for (const Node* node : b_.nodes) b.push_back(ProvenanceKey(*node));
    ByKey(a, b, /*unique=*/true);
  }

  // Key 0 is never aligned. With `unique`, aligns keys that one node of each side has; otherwise
  // those that equally many nodes have, in order.
  void ByKey(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, bool unique) {
    struct Group {
      std::vector<int> a, b;
    };
    absl::flat_hash_map<uint64_t, Group> groups;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != 0 && a_.partner[i] < 0) groups[a[i]].a.push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < b.size(); ++i) {
      if (b[i] != 0 && b_.partner[i] < 0) groups[b[i]].b.push_back(static_cast<int>(i));
    }
    for (auto& [key, group] : groups) {
      if (group.a.size() != group.b.size() || (unique && group.a.size() != 1)) continue;
      for (size_t i = 0; i < group.a.size(); ++i) Match(group.a[i], group.b[i]);
    }
  }

  void ByOutputs() {
    const int n = std::min(a_.graph->num_outputs(), b_.graph->num_outputs());
    std::map<std::string, int> names;
    for (size_t i = 0; i < b_.graph->output_names().size(); ++i) {
      names[b_.graph->output_names()[i]] = static_cast<int>(i);
    }
    for (int i = 0; i < n; ++i) {
      int other = i;
      if (!a_.graph->output_names().empty() && !names.empty()) {
        auto it = names.find(a_.graph->output_names()[i]);
        if (it == names.end()) continue;
        other = it->second;
      }
      Match(a_.PlaceOf(a_.graph->output(i)), b_.PlaceOf(b_.graph->output(other)));
    }
  }

  // Aligns operands of aligned nodes by position, visiting users before operands.
  void Propagate() {
    for (size_t i = a_.nodes.size(); i-- > 0;) {
      const int k = a_.partner[i];
      if (k < 0) continue;
      const Node& x = *a_.nodes[i];
      const Node& y = *b_.nodes[k];
      for (int o = 0; o < std::min(x.num_operands(), y.num_operands()); ++o) {
        Match(a_.PlaceOf(x.operand(o)), b_.PlaceOf(y.operand(o)));
      }
    }
  }

  DiffSide& a_;
  DiffSide& b_;
};

}  // namespace

DiffSide::DiffSide(const Graph& g)
    : graph(&g), index(g.node_id_limit(), -1), numbers(g.value_id_limit(), -1) {
  int next = 0;
  for (const Node* node : g.nodes()) {
    for (int i = 0; i < node->num_results(); ++i) numbers[node->result(i)->id()] = next++;
    index[node->id()] = static_cast<int>(nodes.size());
    nodes.push_back(node);
    own.push_back(OwnLabel(*node));
  }
  partner.assign(nodes.size(), -1);
  labels = own;
}

uint64_t DiffSide::AttrLabel(const Node& node) {
  if (node.Is(ops::constant)) return LiteralOf(node.result())->Fingerprint();
  uint64_t h = node.attr_list()->hash();
  for (int i = 0; i < node.num_regions(); ++i) {
    h = HashCombine(h, HashText(PrintGraph(*node.region(i))));
  }
  return h;
}

// Replaces the ids by which PrintNode() names values.
std::string DiffSide::Line(const Node& node) const {
  const std::string text = PrintNode(node);
  std::string line;
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i++];
    line += c;
    if (c == '"' && (i < 2 || text[i - 2] != '\\')) quoted = !quoted;
    if (c != '%' || quoted) continue;
    size_t end = i;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    uint32_t id = 0;
    if (!absl::SimpleAtoi(text.substr(i, end - i), &id)) continue;
    if (id >= numbers.size() || numbers[id] < 0) continue;
    absl::StrAppend(&line, numbers[id]);
    i = end;
  }
  return line;
}

void DiffSide::Refine() {
  std::vector<uint64_t> next(labels.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    uint64_t h = labels[i];
    for (int k = 0; k < nodes[i]->num_operands(); ++k)
      h = HashCombine(h, LabelOf(nodes[i]->operand(k)));
    next[i] = HashCombine(h, UserLabel(*nodes[i]));
  }
  labels = std::move(next);
}

uint64_t DiffSide::LabelOf(const Value* value) const {
  if (value == nullptr) return 1;
  if (value->is_input()) return HashText(graph->input_info(value->index()).name);
  return HashCombine(labels[PlaceOf(value)], value->index());
}

// The label does not depend on the order of the uses.
uint64_t DiffSide::UserLabel(const Node& node) const {
  uint64_t sum = 0;
  for (int r = 0; r < node.num_results(); ++r) {
    for (const Use* use = node.result(r)->first_use(); use != nullptr; use = use->next()) {
      const int place = use->user() == graph->return_node() ? -1 : index[use->user()->id()];
      const uint64_t user = place < 0 ? 7 : labels[place];
      sum += HashCombine(user, static_cast<uint64_t>(use->operand_index()));
    }
  }
  return sum;
}

void Align(DiffSide* a, DiffSide* b) { Aligner(a, b).Run(); }

}  // namespace weft
