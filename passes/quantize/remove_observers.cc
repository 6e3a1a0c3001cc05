#include "passes/quantize/remove_observers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"

namespace weft {
namespace {

class ObserverRemover {
 public:
  ObserverRemover(Graph& graph, const std::vector<SiteGroup>& groups) : graph_(graph) {
    for (const SiteGroup& group : groups) names_.insert(group.observer);
    names_.erase("");
  }

  int64_t Run() {
    if (names_.empty()) return 0;
    DropOutputs();
    EraseChains();
    std::vector<int> kept;
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      if (!IsState(i) || graph_.input(i)->has_uses()) kept.push_back(i);
    }
    const int64_t removed = graph_.num_inputs() - static_cast<int64_t>(kept.size());
    if (removed > 0) graph_.KeepInputs(kept);
    return removed;
  }

 private:
  bool IsState(int input) const { return names_.contains(graph_.input_info(input).name); }

  void DropOutputs() {
    const int own = graph_.num_own_outputs();
    std::vector<Value*> outputs = graph_.outputs();
    std::vector<std::string> names = graph_.output_names();
    const std::vector<int> write_backs = graph_.write_backs();
    std::vector<int> kept_inputs;
    std::vector<Value*> kept(outputs.begin(), outputs.begin() + own);
    std::vector<std::string> kept_names(names.begin(),
                                        names.begin() + std::min<size_t>(own, names.size()));
    for (size_t k = 0; k < write_backs.size(); ++k) {
      if (IsState(write_backs[k])) continue;
      kept_inputs.push_back(write_backs[k]);
      kept.push_back(outputs[own + k]);
      if (!names.empty()) kept_names.push_back(names[own + k]);
    }
    graph_.SetWriteBacks({});
    graph_.SetOutputs(kept);
    graph_.SetWriteBacks(std::move(kept_inputs));
    graph_.output_names() = std::move(kept_names);
  }

  // Users before what they use.
  void EraseChains() {
    Node* prev = nullptr;
    for (Node* node = graph_.return_node()->prev(); node != nullptr; node = prev) {
      prev = node->prev();
      if (!node->Is(ops::observe) || node->has_uses()) continue;
      const Value* state = ops::ObserveView(*node).state();
      while (state->node() != nullptr && state->node()->Is(ops::observe)) {
        state = ops::ObserveView(*state->node()).state();
      }
      if (state->is_input() && IsState(state->index())) graph_.EraseNode(node);
    }
  }

  Graph& graph_;
  absl::flat_hash_set<std::string> names_;
};

}  // namespace

int64_t RemoveObservers(Graph& graph, const std::vector<SiteGroup>& groups) {
  return ObserverRemover(graph, groups).Run();
}

}  // namespace weft
