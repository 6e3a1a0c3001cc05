#include "graph/ir/module.h"

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/node.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace internal {

std::vector<Graph*> NestedGraphs(Graph* root) {
  std::vector<Graph*> graphs = {root};
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->num_region_nodes() == 0) continue;
    for (Node* node : graphs[i]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
      }
    }
  }
  return graphs;
}

}  // namespace internal

using internal::NestedGraphs;

Module::Module(const OpRegistry& registry)
    : registry_(&registry),
      constants_(std::make_unique<ConstantStore>()),
      symbols_(std::make_unique<SymbolTable>()),
      provenance_(std::make_unique<ProvenanceTable>()),
      origins_(std::make_unique<OriginTable>()) {}

Module::~Module() = default;

Graph* Module::AddFunction(absl::string_view name) {
  WEFT_CHECK(FindFunction(name) == nullptr) << "two functions called " << name;
  functions_.push_back(std::make_unique<Graph>(this, std::string(name)));
  return functions_.back().get();
}

Graph* Module::FindFunction(absl::string_view name) const {
  for (const auto& function : functions_) {
    if (function->name() == name) return function.get();
  }
  return nullptr;
}

std::vector<Graph*> Module::AllGraphs() const {
  std::vector<Graph*> graphs;
  for (const auto& function : functions_) {
    for (Graph* graph : NestedGraphs(function.get())) graphs.push_back(graph);
  }
  return graphs;
}

int64_t Module::num_nodes() const {
  int64_t n = 0;
  for (Graph* graph : AllGraphs()) n += graph->num_nodes();
  return n;
}

bool Module::HasWrites() const {
  for (const Graph* graph : AllGraphs()) {
    if (graph->num_write_nodes() > 0) return true;
  }
  return false;
}

absl::Status CheckHasMain(const Module& module) {
  if (module.main() != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("the module has no function @main");
}

}  // namespace weft
