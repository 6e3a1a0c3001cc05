// Nested graphs first: once a nested graph hands a state on as it is, so does the node that holds
// it, and the state goes around the node.
#include "passes/quantize/remove_observers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/control.h"
#include "graph/ops/quant.h"
#include "passes/quantize/function_graphs.h"
#include "passes/quantize/region_edit.h"
#include "passes/quantize/sites.h"

namespace weft {
namespace {

class ObserverRemover {
 public:
  ObserverRemover(Graph& function, const absl::flat_hash_set<std::string>& names)
      : function_(function), names_(names) {}

  int64_t Run() {
    if (names_.empty()) return 0;
    const FunctionGraphs all(function_);
    for (auto it = all.graphs().rbegin(); it != all.graphs().rend(); ++it) {
      for (Node* node : (*it)->nodes()) {
        if (node->Is(ops::observe)) RemoveObserve(node);
        if (node->num_regions() > 0 && CanCarry(*node)) GoAround(node);
      }
    }
    DropOutputs();
    std::vector<int> kept;
    for (int i = 0; i < function_.num_inputs(); ++i) {
      const Value* input = function_.input(i);
      if (!IsState(input) || input->has_uses()) kept.push_back(i);
    }
    const int64_t removed = function_.num_inputs() - static_cast<int64_t>(kept.size());
    if (removed > 0) function_.KeepInputs(kept);
    return removed;
  }

 private:
  // Whether it is a state before anything was observed.
  bool IsState(const Value* value) const {
    return value->node() == nullptr &&
           names_.contains(value->graph()->input_info(value->index()).name);
  }

  void RemoveObserve(Node* node) {
    Value* state = ops::ObserveView(*node).state();
    if (!IsState(state)) return;
    node->result()->ReplaceAllUsesWith(state);
    node->graph()->EraseNode(node);
  }

  // All nested graphs have the same states.
  void GoAround(Node* node) {
    const Graph& region = *node->region(0);
    std::vector<int> operands, results;
    for (int i = 0; i < node->num_operands(); ++i) {
      const int input = InputOf(*node, i);
      if (input >= 0 && input < region.num_inputs() && IsState(region.input(input))) {
        operands.push_back(i);
      }
    }
    for (int i = 0; i < node->num_results(); ++i) {
      if (IsState(region.output(OutputOf(*node, i)))) results.push_back(i);
    }
    if (operands.empty() || !AreIdle(*node, operands, results)) return;
    for (const int i : results) {
      const int input = region.output(OutputOf(*node, i))->index();
      node->result(i)->ReplaceAllUsesWith(node->operand(OperandOf(*node, input)));
    }
    DropValues(node, operands, results);
  }

  // Whether the nested graphs do nothing with these operands but give them back as these results.
  static bool AreIdle(const Node& node, const std::vector<int>& operands,
                      const std::vector<int>& results) {
    if (!node.Is(ops::cond) && operands.size() != results.size()) return false;
    for (int r = 0; r < node.num_regions(); ++r) {
      const Graph& region = *node.region(r);
      size_t given_back = 0;
      for (const int i : operands) {
        const Value* input = region.input(InputOf(node, i));
        for (const Use* use = input->first_use(); use != nullptr; use = use->next()) {
          if (use->user() != region.return_node()) return false;
          ++given_back;
        }
      }
      for (const int i : results) {
        const Value* output = region.output(OutputOf(node, i));
        const bool is_input = output->node() == nullptr;
        given_back -= is_input && std::count(operands.begin(), operands.end(),
                                             OperandOf(node, output->index())) > 0;
      }
      if (given_back != 0) return false;
    }
    return true;
  }

  static int OperandOf(const Node& node, int input) {
    for (int i = 0; i < node.num_operands(); ++i) {
      if (InputOf(node, i) == input) return i;
    }
    return -1;
  }

  void DropOutputs() {
    const int own = function_.num_own_outputs();
    std::vector<Value*> outputs = function_.outputs();
    std::vector<std::string> names = function_.output_names();
    const std::vector<int> write_backs = function_.write_backs();
    std::vector<int> kept_inputs;
    std::vector<Value*> kept(outputs.begin(), outputs.begin() + own);
    std::vector<std::string> kept_names(names.begin(),
                                        names.begin() + std::min<size_t>(own, names.size()));
    for (size_t k = 0; k < write_backs.size(); ++k) {
      if (IsState(function_.input(write_backs[k]))) continue;
      kept_inputs.push_back(write_backs[k]);
      kept.push_back(outputs[own + k]);
      if (!names.empty()) kept_names.push_back(names[own + k]);
    }
    function_.SetWriteBacks({});
    function_.SetOutputs(kept);
    function_.SetWriteBacks(std::move(kept_inputs));
    function_.output_names() = std::move(kept_names);
  }

  Graph& function_;
  const absl::flat_hash_set<std::string>& names_;
};

}  // namespace

absl::flat_hash_set<std::string> NamesOfStates(Graph& function) {
  absl::flat_hash_set<std::string> names;
  const FunctionGraphs all(function);
  for (const Graph* graph : all.graphs()) {
    if (!HasNotes(*graph)) continue;
    for (Value* input : graph->inputs()) names.emplace(FindNote(input, kObserverKey));
    for (Node* node : graph->nodes()) {
      for (int i = 0; i < node->num_operands(); ++i) {
        names.emplace(FindNote(node, i, kObserverKey));
      }
      for (int i = 0; i < node->num_results(); ++i) {
        names.emplace(FindNote(node->result(i), kObserverKey));
      }
    }
  }
  names.erase("");
  return names;
}

int64_t RemoveObservers(Graph& function, const absl::flat_hash_set<std::string>& names) {
  return ObserverRemover(function, names).Run();
}

}  // namespace weft
