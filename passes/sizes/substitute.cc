#include "passes/sizes/substitute.h"

#include <vector>

#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"

namespace weft {

bool IsSymbolic(Type type) {
  if (type.is_symint()) return !type.symint().is_constant();
  return type.is_tensor() && !type.is_static();
}

void SubstituteSymbols(Module& module,
                       absl::FunctionRef<std::optional<SymInt>(SymInt)> replacement) {
  const auto substitute_type = [&](Value* value) {
    if (IsSymbolic(value->type())) value->set_type(value->type().Substitute(replacement));
  };
  const std::vector<Graph*> graphs = module.AllGraphs();
  for (auto it = graphs.rbegin(); it != graphs.rend(); ++it) {
    Graph& graph = **it;
    for (Value* input : graph.inputs()) substitute_type(input);
    for (Node* node : graph.nodes()) {
      for (int i = 0; i < node->num_results(); ++i) substitute_type(node->result(i));
      const AttrList* attrs = node->attr_list();
      if (attrs->is_symbolic()) attrs = attrs->Substitute(replacement);
      if (node->num_symbol_operands() == 0 && attrs == node->attr_list()) continue;
      graph.UpdateAttrs(node, attrs);
    }
  }
}

}  // namespace weft
