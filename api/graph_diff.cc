#include "api/graph_diff.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/core/text.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

constexpr int kRounds = 4;  // How far labels see.

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15ull + b + 0x632be59bd9b4e019ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t HashText(absl::string_view text) {
  uint64_t h = text.size();
  for (char c : text) h = Mix(h, static_cast<unsigned char>(c));
  return h;
}

// Of one graph: its nodes, their labels and their partners in the other graph.
struct Side {
  const Graph* graph;
  std::vector<const Node*> nodes;
  std::vector<int> index;     // By node id: place in `nodes`.
  std::vector<int> partner;   // By place; -1: none.
  std::vector<uint64_t> own;  // Labels without neighbours.
  std::vector<uint64_t> labels;

  std::vector<int> numbers;  // By value id: of results, as in the module's text.

  explicit Side(const Graph& g)
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

  int PlaceOf(const Value* value) const {
    return value == nullptr || value->is_input() ? -1 : index[value->node()->id()];
  }

  static uint64_t AttrLabel(const Node& node) {
    if (node.Is(ops::constant)) return LiteralOf(node.result())->Fingerprint();
    uint64_t h = node.attr_list()->hash();
    for (int i = 0; i < node.num_regions(); ++i) {
      h = Mix(h, HashText(PrintGraph(*node.region(i))));
    }
    return h;
  }

  static uint64_t OwnLabel(const Node& node) {
    uint64_t h = Mix(HashText(node.op().name()), AttrLabel(node));
    for (int i = 0; i < node.num_results(); ++i) h = Mix(h, node.result(i)->type().hash());
    return h;
  }

  // The node's line in the module's text: PrintNode() names values by their ids.
  std::string Line(const Node& node) const {
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

  // Labels that see one step further.
  void Refine() {
    std::vector<uint64_t> next(labels.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      uint64_t h = labels[i];
      for (int k = 0; k < nodes[i]->num_operands(); ++k) h = Mix(h, LabelOf(nodes[i]->operand(k)));
      next[i] = Mix(h, UserLabel(*nodes[i]));
    }
    labels = std::move(next);
  }

  uint64_t LabelOf(const Value* value) const {
    if (value == nullptr) return 1;
    if (value->is_input()) return HashText(graph->input_info(value->index()).name);
    return Mix(labels[PlaceOf(value)], value->index());
  }

  // Independent of the order of the uses.
  uint64_t UserLabel(const Node& node) const {
    uint64_t sum = 0;
    for (int r = 0; r < node.num_results(); ++r) {
      for (const Use* use = node.result(r)->first_use(); use != nullptr; use = use->next()) {
        const int place = use->user() == graph->return_node() ? -1 : index[use->user()->id()];
        const uint64_t user = place < 0 ? 7 : labels[place];
        sum += Mix(user, static_cast<uint64_t>(use->operand_index()));
      }
    }
    return sum;
  }
};

class Aligner {
 public:
  Aligner(Side* a, Side* b) : a_(*a), b_(*b) {}

  void Run() {
    ByProvenance();
    for (int round = 0; round < kRounds; ++round) {
      a_.Refine();
      b_.Refine();
    }
    // Equal neighbourhoods in order, then equal nodes when they are unique.
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
    return Mix(HashText(node.op().name()), HashText(absl::StrJoin(names, "\n")));
  }

  void ByProvenance() {
    std::vector<uint64_t> a, b;
    for (const Node* node : a_.nodes) a.push_back(ProvenanceKey(*node));
    for (const Node* node : b_.nodes) b.push_back(ProvenanceKey(*node));
    ByKey(a, b, /*unique=*/true);
  }

  // Key 0 is none. With `unique`, only keys that one node of each side has;
  // otherwise those that equally many have, in order.
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

  // Operands of aligned nodes are aligned by position, users before operands.
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

  Side& a_;
  Side& b_;
};

bool SameValue(const Side& a, const Value* x, const Side& b, const Value* y) {
  if (x == nullptr || y == nullptr) return x == y;
  if (x->is_input() != y->is_input()) return false;
  if (x->is_input()) {
    return a.graph->input_info(x->index()).name == b.graph->input_info(y->index()).name;
  }
  return x->index() == y->index() && a.partner[a.PlaceOf(x)] == b.PlaceOf(y);
}

std::vector<std::string> Changes(const Side& a, const Node& x, const Side& b, const Node& y) {
  std::vector<std::string> what;
  if (x.num_operands() != y.num_operands()) what.push_back("number of operands");
  for (int i = 0; i < std::min(x.num_operands(), y.num_operands()); ++i) {
    if (!SameValue(a, x.operand(i), b, y.operand(i))) what.push_back(absl::StrCat("operand ", i));
  }
  if (Side::AttrLabel(x) != Side::AttrLabel(y)) {
    bool named = false;
    for (int i = 0; i < x.attr_list()->size() && !x.Is(ops::constant); ++i) {
      if ((*x.attr_list())[i] == (*y.attr_list())[i]) continue;
      what.push_back(absl::StrCat("attribute ", x.op().schema().attrs[i].name));
      named = true;
    }
    if (!named) what.push_back(x.Is(ops::constant) ? "value" : "nested graph");
  }
  for (int i = 0; i < std::min(x.num_results(), y.num_results()); ++i) {
    if (x.result(i)->type() != y.result(i)->type()) {
      what.push_back("type");
      break;
    }
  }
  return what;
}

DiffEntry EntryFor(DiffEntry::Kind kind, const Node& node) {
  DiffEntry entry;
  entry.kind = kind;
  entry.function = node.graph()->name();
  entry.provenance = node.graph()->module().provenance().Names(node.provenance(), 8);
  return entry;
}

std::string Signature(const Graph& graph) {
  const std::string text = PrintGraph(graph);
  return std::string(absl::StrSplit(text, absl::MaxSplits('\n', 1)).begin()->substr(0, 200));
}

void DiffFunction(const Graph& before, const Graph& after, GraphDiff* diff) {
  Side a(before), b(after);
  Aligner(&a, &b).Run();
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node& node = *a.nodes[i];
    if (a.partner[i] < 0) {
      diff->entries.push_back(EntryFor(DiffEntry::Kind::kWent, node));
      diff->entries.back().before = a.Line(node);
      continue;
    }
    ++diff->aligned;
    const Node& other = *b.nodes[a.partner[i]];
    std::vector<std::string> what = Changes(a, node, b, other);
    if (what.empty()) continue;
    DiffEntry& entry = diff->entries.emplace_back(EntryFor(DiffEntry::Kind::kChanged, node));
    entry.before = a.Line(node);
    entry.after = b.Line(other);
    entry.what = std::move(what);
  }
  for (size_t i = 0; i < b.nodes.size(); ++i) {
    if (b.partner[i] >= 0) continue;
    diff->entries.push_back(EntryFor(DiffEntry::Kind::kAppeared, *b.nodes[i]));
    diff->entries.back().after = b.Line(*b.nodes[i]);
  }
  DiffEntry outputs;
  outputs.function = before.name();
  if (before.num_outputs() != after.num_outputs()) outputs.what.push_back("number of outputs");
  for (int i = 0; i < std::min(before.num_outputs(), after.num_outputs()); ++i) {
    if (!SameValue(a, before.output(i), b, after.output(i))) {
      outputs.what.push_back(absl::StrCat("output ", i));
    }
  }
  if (outputs.what.empty()) return;
  outputs.before = a.Line(*before.return_node());
  outputs.after = b.Line(*after.return_node());
  diff->entries.push_back(std::move(outputs));
}

const char* NameOf(DiffEntry::Kind kind) {
  switch (kind) {
    case DiffEntry::Kind::kWent:
      return "went";
    case DiffEntry::Kind::kAppeared:
      return "appeared";
    case DiffEntry::Kind::kChanged:
      return "changed";
  }
  return "";
}

}  // namespace

int64_t GraphDiff::Count(DiffEntry::Kind kind) const {
  return std::count_if(entries.begin(), entries.end(),
                       [&](const DiffEntry& entry) { return entry.kind == kind; });
}

std::string GraphDiff::ToString() const {
  std::string text;
  std::string function;
  for (const DiffEntry& entry : entries) {
    if (entry.function != function) {
      function = entry.function;
      absl::StrAppend(&text, "@", function, ":\n");
    }
    switch (entry.kind) {
      case DiffEntry::Kind::kWent:
        absl::StrAppend(&text, "- ", entry.before, "\n");
        break;
      case DiffEntry::Kind::kAppeared:
        absl::StrAppend(&text, "+ ", entry.after, "\n");
        break;
      case DiffEntry::Kind::kChanged:
        absl::StrAppend(&text, "~ ", entry.before, "\n  ", entry.after, "  (",
                        absl::StrJoin(entry.what, ", "), ")\n");
    }
  }
  absl::StrAppend(&text, Count(DiffEntry::Kind::kWent), " went, ",
                  Count(DiffEntry::Kind::kAppeared), " appeared, ",
                  Count(DiffEntry::Kind::kChanged), " changed, ", aligned, " aligned\n");
  return text;
}

std::string GraphDiff::ToJson() const {
  nlohmann::ordered_json json;
  json["equal"] = equal();
  json["aligned"] = aligned;
  json["entries"] = nlohmann::ordered_json::array();
  for (const DiffEntry& entry : entries) {
    nlohmann::ordered_json one;
    one["kind"] = NameOf(entry.kind);
    one["function"] = entry.function;
    if (!entry.before.empty()) one["before"] = entry.before;
    if (!entry.after.empty()) one["after"] = entry.after;
    if (!entry.what.empty()) one["what"] = entry.what;
    if (!entry.provenance.empty()) one["provenance"] = entry.provenance;
    json["entries"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

GraphDiff Diff(const Module& before, const Module& after) {
  GraphDiff diff;
  for (const auto& function : before.functions()) {
    const Graph* other = after.FindFunction(function->name());
    if (other != nullptr) {
      DiffFunction(*function, *other, &diff);
      continue;
    }
    DiffEntry entry;
    entry.kind = DiffEntry::Kind::kWent;
    entry.function = function->name();
    entry.before = Signature(*function);
    diff.entries.push_back(std::move(entry));
  }
  for (const auto& function : after.functions()) {
    if (before.FindFunction(function->name()) != nullptr) continue;
    DiffEntry entry;
    entry.kind = DiffEntry::Kind::kAppeared;
    entry.function = function->name();
    entry.after = Signature(*function);
    diff.entries.push_back(std::move(entry));
  }
  return diff;
}

}  // namespace weft
