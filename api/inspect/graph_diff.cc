#include "api/inspect/graph_diff.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/inspect/graph_align.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/provenance.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace weft {
namespace {

bool SameValue(const DiffSide& a, const Value* x, const DiffSide& b, const Value* y) {
  if (x == nullptr || y == nullptr) return x == y;
  if (x->is_input() != y->is_input()) return false;
  if (x->is_input()) {
    return a.graph->input_info(x->index()).name == b.graph->input_info(y->index()).name;
  }
  return x->index() == y->index() && a.partner[a.PlaceOf(x)] == b.PlaceOf(y);
}

std::vector<std::string> Changes(const DiffSide& a, const Node& x, const DiffSide& b,
                                 const Node& y) {
  std::vector<std::string> what;
  if (x.num_operands() != y.num_operands()) what.push_back("number of operands");
  for (int i = 0; i < std::min(x.num_operands(), y.num_operands()); ++i) {
    if (!SameValue(a, x.operand(i), b, y.operand(i))) what.push_back(absl::StrCat("operand ", i));
  }
  if (DiffSide::AttrLabel(x) != DiffSide::AttrLabel(y)) {
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

// The initial value of an input; null if the caller must give one.
const HostTensor* InitialOf(const Graph& graph, int input) {
  const int id = graph.input_info(input).initial;
  return id < 0 ? nullptr : &graph.module().constants().tensor(id);
}

// Compares initial values of inputs with equal names.
void DiffInitialValues(const Graph& before, const Graph& after, GraphDiff* diff) {
  absl::flat_hash_map<absl::string_view, int> inputs;
  for (int i = 0; i < after.num_inputs(); ++i) inputs[after.input_info(i).name] = i;
  DiffEntry entry;
  entry.function = before.name();
  for (int i = 0; i < before.num_inputs(); ++i) {
    const auto it = inputs.find(before.input_info(i).name);
    if (it == inputs.end()) continue;
    const HostTensor* x = InitialOf(before, i);
    const HostTensor* y = InitialOf(after, it->second);
    const bool same =
        x == nullptr || y == nullptr ? x == y : x == y || x->Contiguous().BitEqual(y->Contiguous());
    if (!same) entry.what.push_back(absl::StrCat("initial value of %", it->first));
  }
  if (entry.what.empty()) return;
  entry.before = Signature(before);
  entry.after = Signature(after);
  diff->entries.push_back(std::move(entry));
}

void DiffFunction(const Graph& before, const Graph& after, GraphDiff* diff) {
  DiffInitialValues(before, after, diff);
  DiffSide a(before), b(after);
  Align(&a, &b);
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

}  // namespace

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
