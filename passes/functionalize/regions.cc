#include "passes/functionalize/regions.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/control.h"
#include "graph/ops/support/region.h"

namespace weft {
namespace {

// Positions for written operands: `cond` has only results at the end, loops have them among the
// carried values.
struct Places {
  int operand = 0;
  int output = 0;  // Output of a nested graph.
  int result = 0;
};

Places PlacesOf(const Node& node) {
  if (node.Is(ops::cond)) {
    return {node.num_operands(), node.region(0)->num_outputs(), node.num_results()};
  }
  const int carried = static_cast<int>(ops::CarryingLoopView(node).num_carried());
  if (node.Is(ops::scan)) return {carried, carried, carried};
  return {2 + carried, 1 + carried, carried};
}

// The operands in their new order.
std::vector<int> Order(const Node& node, const std::vector<int>& written, int place) {
  std::vector<int> order(node.num_operands());
  std::iota(order.begin(), order.end(), 0);
  if (node.Is(ops::cond)) return order;
  const auto is_written = [&](int i) {
    return std::binary_search(written.begin(), written.end(), i);
  };
  std::stable_partition(order.begin() + place, order.end(), is_written);
  return order;
}

const AttrList* CarryMore(const Node& node, int64_t more) {
  if (node.Is(ops::cond)) return node.attr_list();
  const int64_t num_carried = ops::CarryingLoopView(node).num_carried() + more;
  if (node.Is(ops::loop)) return ops::LoopAttrs(num_carried);
  return ops::ScanAttrs(num_carried, ops::ScanView(node).num_scanned());
}

// A new node with the operands in that order, and with results of the types of the written ones
// from `place` on. It takes over the nested graphs.
Node* Remake(Node* node, const std::vector<int>& order, const std::vector<int>& written,
             int place) {
  std::vector<Value*> operands;
  for (int i : order) operands.push_back(node->operand(i));
  Types types;
  for (int i = 0; i < node->num_results(); ++i) types.push_back(node->result(i)->type());
  Types more;
  for (int i : written) more.push_back(node->operand(i)->type());
  types.insert(types.begin() + place, more.begin(), more.end());
  Graph* graph = node->graph();
  const AttrList* attrs = CarryMore(*node, static_cast<int64_t>(written.size()));
  Node* made =
      graph->CreateNode(node->op(), operands, attrs, types, node, graph->TakeRegions(node));
  made->set_provenance(node->provenance());
  made->set_origin(node->origin());
  return made;
}

}  // namespace

absl::Status RegionWrites::Check(const Node& node) const {
  for (int r = 0; r < node.num_regions(); ++r) {
    const auto it = written_.find(node.region(r));
    if (it == written_.end()) continue;
    for (int input : it->second) {
      if (ops::CapturedOperand(node, input) >= 0) continue;
      return absl::UnimplementedError(
          absl::StrCat("@", node.graph()->name(), ", node ", node.id(), " (", node.op().name(),
                       "): its nested graph ", node.op().schema().regions[r], " writes its input ",
                       input, ", which is not captured memory"));
    }
  }
  return absl::OkStatus();
}

std::vector<int> RegionWrites::WrittenOperands(const Node& node) const {
  std::vector<int> operands;
  for (int r = 0; r < node.num_regions(); ++r) {
    const auto it = written_.find(node.region(r));
    if (it == written_.end()) continue;
    for (int input : it->second) operands.push_back(ops::CapturedOperand(node, input));
  }
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  return operands;
}

std::vector<Value*> RegionWrites::TakeNewValues(const Node& node, Graph* region,
                                                const std::vector<int>& written) const {
  const auto it = written_.find(region);
  const std::vector<int> none;
  const std::vector<int>& own = it != written_.end() ? it->second : none;
  std::vector<Value*> outputs = region->outputs();
  const std::vector<Value*> values(outputs.end() - own.size(), outputs.end());
  outputs.resize(outputs.size() - own.size());
  region->SetOutputs(outputs);
  region->output_names().clear();
  std::vector<Value*> now(written.size(), nullptr);
  for (int input = 0; input < region->num_inputs(); ++input) {
    const int operand = ops::CapturedOperand(node, input);
    const auto at = std::lower_bound(written.begin(), written.end(), operand);
    if (at == written.end() || *at != operand) continue;
    const auto mine = std::find(own.begin(), own.end(), input);
    now[at - written.begin()] =
        mine == own.end() ? region->input(input) : values[mine - own.begin()];
  }
  return now;
}

RegionWrites::Returned RegionWrites::ReturnWrites(Node* node) const {
  const std::vector<int> written = WrittenOperands(*node);
  std::vector<std::vector<Value*>> values;
  for (int r = 0; r < node->num_regions(); ++r) {
    values.push_back(TakeNewValues(*node, node->region(r), written));
  }
  const Places places = PlacesOf(*node);
  const std::vector<int> order = Order(*node, written, places.operand);
  for (int r = 0; r < node->num_regions(); ++r) {
    Graph* region = node->region(r);
    if (!node->Is(ops::cond)) region->KeepInputs(order);
    std::vector<Value*> outputs = region->outputs();
    outputs.insert(outputs.begin() + places.output, values[r].begin(), values[r].end());
    region->SetOutputs(outputs);
  }
  const int num_written = static_cast<int>(written.size());
  Node* made = Remake(node, order, written, places.result);
  Returned returned{made, {}, {}};
  for (int i = 0; i < made->num_results(); ++i) {
    const bool is_new = i >= places.result && i < places.result + num_written;
    (is_new ? returned.written : returned.results).push_back(made->result(i));
  }
  for (int i = 0; i < node->num_results(); ++i) {
    node->result(i)->ReplaceAllUsesWith(returned.results[i]);
  }
  node->graph()->EraseNode(node);
  return returned;
}

}  // namespace weft
