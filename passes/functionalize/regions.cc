#include "passes/functionalize/regions.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"

namespace weft {
namespace {

// The operand of a `cond` that is input `i` of its nested graphs.
int OperandOf(int input) { return input + 1; }

}  // namespace

absl::Status RegionWrites::Check(const Node& node) const {
  for (int r = 0; r < node.num_regions(); ++r) {
    const auto it = written_.find(node.region(r));
    if (it == written_.end() || node.Is(ops::cond)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "@", node.graph()->name(), ", node ", node.id(), " (", node.op().name(),
        "): its nested graph ", node.op().schema().regions[r],
        " writes its input ", it->second[0], "; only those of cond may"));
  }
  return absl::OkStatus();
}

std::vector<int> RegionWrites::WrittenOperands(const Node& node) const {
  std::vector<int> operands;
  for (int r = 0; r < node.num_regions(); ++r) {
    const auto it = written_.find(node.region(r));
    if (it == written_.end()) continue;
    for (int input : it->second) operands.push_back(OperandOf(input));
  }
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  return operands;
}

Node* RegionWrites::ReturnWrites(Node* node) const {
  const std::vector<int> written = WrittenOperands(*node);
  Graph* graph = node->graph();
  std::vector<Value*> operands;
  Types types;
  for (int i = 0; i < node->num_operands(); ++i) {
    operands.push_back(node->operand(i));
  }
  for (int i = 0; i < node->num_results(); ++i) {
    types.push_back(node->result(i)->type());
  }
  for (int i : written) types.push_back(operands[i]->type());
  for (int r = 0; r < node->num_regions(); ++r) {
    Graph* region = node->region(r);
    const auto it = written_.find(region);
    const std::vector<int> none;
    const std::vector<int>& own = it != written_.end() ? it->second : none;
    std::vector<Value*> outputs = region->outputs();
    const std::vector<Value*> values(outputs.end() - own.size(), outputs.end());
    outputs.resize(outputs.size() - own.size());
    for (int i : written) {
      const int input = i - OperandOf(0);
      const auto at = std::find(own.begin(), own.end(), input);
      outputs.push_back(at == own.end() ? region->input(input)
                                        : values[at - own.begin()]);
    }
    region->SetOutputs(outputs);
    region->output_names().clear();
  }
  const AttrList* attrs = node->attr_list();
  Node* made = graph->CreateNode(node->op(), operands, attrs, types, node,
                                 graph->TakeRegions(node));
  made->set_provenance(node->provenance());
  made->set_origin(node->origin());
  for (int i = 0; i < node->num_results(); ++i) {
    node->result(i)->ReplaceAllUsesWith(made->result(i));
  }
  graph->EraseNode(node);
  return made;
}

}  // namespace weft
