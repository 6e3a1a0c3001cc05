// Parts of graphs as modules of their own, to run or show them alone.
#ifndef WEFT_API_REGION_H_
#define WEFT_API_REGION_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/core/graph.h"

namespace weft {

// What to cut out of a graph. The nodes are in the graph's order; what they and
// the outputs use is a result of one of them or stands in `inputs`.
struct RegionSpec {
  std::vector<const Node*> nodes;
  std::vector<const Value*> outputs;
  // Types of the inputs of the new function, in order.
  std::vector<Type> input_types;
  // Constants that inputs are specialised to: ids in the graph's module, or -1.
  std::vector<int> input_values;
  // Which input stands for a value.
  absl::flat_hash_map<const Value*, int> inputs;
};

// The symbols that the spec's types and attributes mention and no node of it
// defines, in the order of the module's table.
std::vector<SymInt> FreeSymbols(const Graph& graph, const RegionSpec& spec);

// A module with one function @main that computes the outputs. Constants, facts
// about symbols and provenance come along. Symbols that a node outside of the
// region defines become sizes that the inputs bring; `symint_inputs` gives each
// of these symbols an input of its own, before the others, where executors learn it first. The
// result is verified.
absl::StatusOr<std::unique_ptr<Module>> CutRegion(const Graph& graph, const RegionSpec& spec,
                                                  absl::Span<const SymInt> symint_inputs);

}  // namespace weft

#endif  // WEFT_API_REGION_H_
