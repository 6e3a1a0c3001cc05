#include "passes/quantize/region_edit.h"

#include <algorithm>
#include <numeric>

#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/control.h"
#include "graph/ops/support/region.h"
#include "graph/tensor/type.h"

namespace weft {
namespace {

// Where new values go, by what they are.
struct Places {
  int operand = 0;
  int output = 0;
  int result = 0;
};

int NumCarried(const Node& node) {
  return node.Is(ops::cond) ? 0 : static_cast<int>(ops::CarryingLoopView(node).num_carried());
}

// Behind all of a cond, behind the carried ones of others.
Places PlacesOf(const Node& node) {
  if (node.Is(ops::cond)) {
    return {node.num_operands(), node.region(0)->num_outputs(), node.num_results()};
  }
  const int carried = NumCarried(node);
  if (node.Is(ops::scan)) return {carried, carried, carried};
  return {2 + carried, 1 + carried, carried};
}

const AttrList* AttrsWith(const Node& node, int64_t num_carried) {
  if (node.Is(ops::cond)) return node.attr_list();
  if (node.Is(ops::loop)) return ops::LoopAttrs(num_carried);
  return ops::ScanAttrs(num_carried, ops::ScanView(node).num_scanned());
}

// A node in the place of `node` with its nested graphs. `kept` has the old operand or -1 for each
// operand, and `results` the old result or -1 for each result; notes and uses move.
Node* Remake(Node* node, const std::vector<Value*>& operands, const std::vector<int>& kept,
             const std::vector<Type>& types, const std::vector<int>& results,
             const AttrList* attrs) {
  Graph* graph = node->graph();
  Node* made =
      graph->CreateNode(node->op(), operands, attrs, types, node, graph->TakeRegions(node));
  made->set_provenance(node->provenance());
  made->set_origin(node->origin());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0) continue;
    for (const Note& note : NotesOf(node, kept[i])) {
      SetNote(made, static_cast<int>(i), std::string(note.key), std::string(note.text));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] < 0) continue;
    Value* before = node->result(results[i]);
    CopyNotes(before, made->result(static_cast<int>(i)));
    before->ReplaceAllUsesWith(made->result(static_cast<int>(i)));
  }
  graph->EraseNode(node);
  return made;
}

// 0, 1, ... n - 1 with `more` times -1 at `place`.
std::vector<int> With(int n, int place, int more) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + place, more, -1);
  return order;
}

// 0, 1, ... n - 1 without `dropped`.
std::vector<int> Without(int n, const std::vector<int>& dropped) {
  std::vector<int> order;
  for (int i = 0; i < n; ++i) {
    if (!std::binary_search(dropped.begin(), dropped.end(), i)) order.push_back(i);
  }
  return order;
}

// Inputs at the end of the graph, moved to `place`.
std::vector<Value*> InsertInputs(Graph& graph, int place, absl::Span<Value* const> values,
                                 absl::Span<const std::string> names) {
  const int before = graph.num_inputs();
  std::vector<Value*> inputs;
  for (size_t k = 0; k < values.size(); ++k) {
    inputs.push_back(graph.AddInput(values[k]->type(), names[k]));
  }
  std::vector<int> order(graph.num_inputs());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + place, order.begin() + before, order.end());
  graph.KeepInputs(order);
  return inputs;
}

}  // namespace

bool CanCarry(const Node& node) {
  return node.Is(ops::cond) || node.Is(ops::loop) || node.Is(ops::scan);
}

int InputOf(const Node& node, int operand) { return node.Is(ops::cond) ? operand - 1 : operand; }

int OutputOf(const Node& node, int result) { return node.Is(ops::loop) ? result + 1 : result; }

CarriedValues CarryValues(Node* node, absl::Span<Value* const> values,
                          absl::Span<const std::string> names) {
  const int more = static_cast<int>(values.size());
  const Places places = PlacesOf(*node);
  CarriedValues carried;
  carried.first_output = places.output;
  for (int r = 0; r < node->num_regions(); ++r) {
    carried.inputs.push_back(
        InsertInputs(*node->region(r), InputOf(*node, places.operand), values, names));
  }
  std::vector<Value*> operands;
  for (int i = 0; i < node->num_operands(); ++i) operands.push_back(node->operand(i));
  operands.insert(operands.begin() + places.operand, values.begin(), values.end());
  std::vector<Type> types;
  for (int i = 0; i < node->num_results(); ++i) types.push_back(node->result(i)->type());
  std::vector<Type> more_types;
  for (const Value* value : values) more_types.push_back(value->type());
  types.insert(types.begin() + places.result, more_types.begin(), more_types.end());
  const std::vector<int> kept = With(node->num_operands(), places.operand, more);
  const std::vector<int> results = With(node->num_results(), places.result, more);
  carried.node =
      Remake(node, operands, kept, types, results, AttrsWith(*node, NumCarried(*node) + more));
  for (int k = 0; k < more; ++k) carried.results.push_back(carried.node->result(places.result + k));
  return carried;
}

void InsertOutputs(Graph& graph, int first, absl::Span<Value* const> values) {
  std::vector<Value*> outputs = graph.outputs();
  outputs.insert(outputs.begin() + first, values.begin(), values.end());
  graph.SetOutputs(outputs);
  graph.output_names().clear();
}

Node* DropValues(Node* node, const std::vector<int>& operands, const std::vector<int>& results) {
  const Places places = PlacesOf(*node);
  const std::vector<int> kept = Without(node->num_operands(), operands);
  const std::vector<int> kept_results = Without(node->num_results(), results);
  for (int r = 0; r < node->num_regions(); ++r) {
    Graph& region = *node->region(r);
    std::vector<int> dropped_outputs, dropped_inputs;
    for (int i : results) dropped_outputs.push_back(OutputOf(*node, i));
    for (int i : operands) dropped_inputs.push_back(InputOf(*node, i));
    std::vector<Value*> outputs;
    for (int i : Without(region.num_outputs(), dropped_outputs)) {
      outputs.push_back(region.output(i));
    }
    region.SetOutputs(outputs);
    region.output_names().clear();
    region.KeepInputs(Without(region.num_inputs(), dropped_inputs));
  }
  std::vector<Value*> values;
  for (int i : kept) values.push_back(node->operand(i));
  std::vector<Type> types;
  for (int i : kept_results) types.push_back(node->result(i)->type());
  const int64_t fewer =
      std::lower_bound(operands.begin(), operands.end(), places.operand) - operands.begin();
  return Remake(node, values, kept, types, kept_results,
                AttrsWith(*node, NumCarried(*node) - (node->Is(ops::cond) ? 0 : fewer)));
}

}  // namespace weft
