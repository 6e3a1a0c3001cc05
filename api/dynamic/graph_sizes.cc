#include "api/dynamic/graph_sizes.h"

#include <vector>

#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft {

SizeProgram MakeSizeProgram(const Graph& main) {
  std::vector<PlanInput> inputs;
  for (int i = 0; i < main.num_inputs(); ++i) {
    const Value* input = main.input(i);
    const InputInfo& info = main.input_info(i);
    const bool read = input->has_uses() || info.value >= 0;
    inputs.push_back({input->type(), info.name, read, info.value});
  }
  const Module& module = main.module();
  const auto constant = [&module](int number) { return &module.constants().tensor(number); };
  return SizeProgram(inputs, module.symbols(), constant, {});
}

}  // namespace weft
