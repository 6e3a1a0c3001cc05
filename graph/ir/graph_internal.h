// Declarations shared by the files that implement graph.h.
#ifndef WEFT_GRAPH_IR_GRAPH_INTERNAL_H_
#define WEFT_GRAPH_IR_GRAPH_INTERNAL_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/ir/change_log.h"
#include "graph/ir/note_table.h"
#include "graph/sym/sym_int.h"

namespace weft {

class Graph;
class Type;
class Value;

namespace internal {

// The tables of a graph.
struct GraphTables {
  ChangeLog changes;
  absl::flat_hash_set<std::string> input_names;
  // The defining value of each unbacked symbol.
  absl::flat_hash_map<SymInt, Value*> symbol_definitions;
  NoteTable notes;
};

// Appends the symbols in a type's sizes, once for each occurrence.
void CollectSymbols(Type type, std::vector<SymInt>* out);

// `root` and the graphs nested in it, outer before inner.
std::vector<Graph*> NestedGraphs(Graph* root);

}  // namespace internal
}  // namespace weft

#endif  // WEFT_GRAPH_IR_GRAPH_INTERNAL_H_
