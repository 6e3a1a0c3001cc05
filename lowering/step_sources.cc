#include "lowering/step_sources.h"

#include <cstddef>

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

constexpr size_t kMaxNames = 16;

}  // namespace

std::shared_ptr<const StepSource> StepSources::Of(const Node* node) {
  if (node == nullptr || (node->provenance() == 0 && node->origin() == 0)) return nullptr;
  std::shared_ptr<const StepSource>& source = made_[{node->provenance(), node->origin()}];
  if (source != nullptr) return source;
  const Module& module = node->graph()->module();
  auto made = std::make_shared<StepSource>();
  made->nodes = module.provenance().Names(node->provenance(), kMaxNames);
  made->rules = module.origins().Rules(node->origin(), kMaxNames);
  source = std::move(made);
  return source;
}

}  // namespace weft
