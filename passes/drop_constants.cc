#include "passes/drop_constants.h"

#include <utility>
#include <vector>

#include "graph/ir/attr.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

int IdOf(const Node& constant) {
  return static_cast<int>((*constant.attr_list())[0].symints()[0].value());
}

// For each constant, whether it is used.
std::vector<bool> UsedIn(const Module& module) {
  std::vector<bool> used(module.constants().size(), false);
  const auto use = [&used](int id) {
    if (id >= 0) used[id] = true;
  };
  for (const Graph* graph : module.AllGraphs()) {
    for (int i = 0; i < graph->num_inputs(); ++i) {
      use(graph->input_info(i).value);
      use(graph->input_info(i).initial);
    }
    for (const Node* node : graph->nodes()) {
      if (node->Is(ops::constant)) use(IdOf(*node));
    }
  }
  return used;
}

void Renumber(Module& module, const std::vector<int>& ids) {
  const auto change = [&ids](int* id) {
    if (*id >= 0) *id = ids[*id];
  };
  for (Graph* graph : module.AllGraphs()) {
    for (int i = 0; i < graph->num_inputs(); ++i) {
      change(&graph->input_info(i).value);
      change(&graph->input_info(i).initial);
    }
    for (Node* node : graph->nodes()) {
      if (!node->Is(ops::constant)) continue;
      const int id = IdOf(*node);
      if (ids[id] == id) continue;
      graph->UpdateAttrs(node, AttrList::Get({AttrValue(ids[id])}));
    }
  }
}

class DropConstantsPass : public Pass {
 public:
  absl::string_view name() const override { return "drop_constants"; }
  absl::string_view doc() const override {
    return "Gives up the memory of constants that nothing uses.";
  }
  absl::Status Run(Module& module, PassContext& context) override {
    const std::vector<bool> used = UsedIn(module);
    const ConstantStore& old = module.constants();
    ConstantStore kept;
    std::vector<int> ids(old.size(), -1);
    for (int id = 0; id < old.size(); ++id) {
      if (!used[id]) {
        context.Count("dropped");
        context.Count("dropped_bytes", old.tensor(id).bytes());
        continue;
      }
      ids[id] = kept.Add(old.tensor(id), old.name(id));
      if (old.derived(id)) kept.MarkDerived(ids[id]);
    }
    if (kept.size() == old.size()) return absl::OkStatus();
    Renumber(module, ids);
    module.constants() = std::move(kept);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateDropConstantsPass() { return std::make_unique<DropConstantsPass>(); }

}  // namespace weft
