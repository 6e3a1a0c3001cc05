#include "graph/text/text_symbols.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/sym/sym_expr.h"

namespace weft::text {
namespace {

class SymbolCollector {
 public:
  void Visit(const Graph& graph) {
    for (const Value* input : graph.inputs()) Add(input->type());
    for (const Node* node : graph.nodes()) {
      Add(node->attr_list());
      for (int i = 0; i < node->num_results(); ++i) {
        Add(node->result(i)->type());
      }
      for (int i = 0; i < node->num_regions(); ++i) {
        nested_.push_back(node->region(i));
      }
    }
  }

  std::vector<SymInt> Finish() {
    while (!nested_.empty()) {
      const Graph* graph = nested_.back();
      nested_.pop_back();
      Visit(*graph);
    }
    std::vector<SymInt> symbols(symbols_.begin(), symbols_.end());
    std::sort(symbols.begin(), symbols.end(), [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
    return symbols;
  }

 private:
  void Add(SymInt s) {
    if (s.is_constant()) return;
    ForEachSymbol(s, [this](SymInt symbol) { symbols_.insert(symbol); });
  }

  void Add(Type type) {
    if (type.is_symint()) return Add(type.symint());
    if (!type.is_tensor() || type.is_static()) return;
    if (!types_.insert(type).second) return;
    for (SymInt d : type.dims()) Add(d);
  }

  void Add(const AttrList* attrs) {
    if (attrs == nullptr || !attrs->is_symbolic()) return;
    if (!attrs_.insert(attrs).second) return;
    for (const AttrValue& value : attrs->values()) {
      for (SymInt s : value.symints()) Add(s);
    }
  }

  absl::flat_hash_set<SymInt> symbols_;
  absl::flat_hash_set<Type> types_;
  absl::flat_hash_set<const AttrList*> attrs_;
  std::vector<const Graph*> nested_;
};

}  // namespace

std::vector<SymInt> SymbolsOf(const Graph& graph) {
  SymbolCollector collector;
  collector.Visit(graph);
  return collector.Finish();
}

}  // namespace weft::text
