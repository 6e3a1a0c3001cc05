// The values that define and use the symbols of data-dependent sizes.
#include <algorithm>
#include <memory>
#include <vector>

#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace internal {

void CollectSymbols(Type type, std::vector<SymInt>* out) {
  const auto push = [out](SymInt symbol) { out->push_back(symbol); };
  if (type.is_symint()) ForEachSymbol(type.symint(), push);
  if (!type.is_tensor() || type.is_static()) return;
  for (SymInt d : type.dims()) ForEachSymbol(d, push);
}

}  // namespace internal

using internal::CollectSymbols;
using internal::NestedGraphs;

namespace {

void CollectSymbols(const AttrList* attrs, std::vector<SymInt>* out) {
  if (!attrs->is_symbolic()) return;
  for (const AttrValue& value : attrs->values()) {
    for (SymInt s : value.symints()) {
      ForEachSymbol(s, [out](SymInt symbol) { out->push_back(symbol); });
    }
  }
}

}  // namespace

std::vector<Value*> Graph::SymbolOperands(
    const AttrList* attrs, const std::vector<std::unique_ptr<Graph>>& regions) const {
  std::vector<SymInt> symbols;
  CollectSymbols(attrs, &symbols);
  for (const auto& region : regions) {
    for (Graph* graph : NestedGraphs(region.get())) {
      for (Value* input : graph->inputs()) {
        CollectSymbols(input->type(), &symbols);
      }
      for (Node* node : graph->nodes()) {
        CollectSymbols(node->attr_list(), &symbols);
      }
    }
  }
  std::vector<Value*> values;
  for (SymInt symbol : symbols) {
    Value* value = SymbolDefinition(symbol);
    if (value != nullptr && std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

void Graph::DefineSymbols(Node* node) {
  for (int i = 0; i < node->num_results(); ++i) {
    std::vector<SymInt> symbols;
    CollectSymbols(node->result(i)->type(), &symbols);
    for (SymInt symbol : symbols) {
      if (!module_->symbols().IsUnbacked(symbol)) continue;
      // A symbol of an operand's type is defined by an earlier node.
      bool inherited = false;
      for (int j = 0; j < node->num_operands(); ++j) {
        std::vector<SymInt> known;
        if (node->has_operand(j)) {
          CollectSymbols(node->operand(j)->type(), &known);
        }
        inherited |= std::find(known.begin(), known.end(), symbol) != known.end();
      }
      if (!inherited) tables_->symbol_definitions[symbol] = node->result(i);
    }
  }
}

Value* Graph::SymbolDefinition(SymInt symbol) const {
  auto it = tables_->symbol_definitions.find(symbol);
  return it == tables_->symbol_definitions.end() ? nullptr : it->second;
}

}  // namespace weft
