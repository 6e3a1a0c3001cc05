// Cuts parts of graphs out as separate modules, to run or show them alone.
#ifndef WEFT_API_CHECK_REGION_H_
#define WEFT_API_CHECK_REGION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor/type.h"

namespace weft {

class Graph;
class Module;
class Node;
class Value;

// The part of a graph to cut out. The nodes are in the graph's order; each value that they or the
// outputs use is a result of one of them or is in `inputs`.
struct RegionSpec {
  std::vector<const Node*> nodes;
  std::vector<const Value*> outputs;
  // Types of the inputs of the new function, in order.
  std::vector<Type> input_types;
  // Names of the inputs; may be empty.
  std::vector<std::string> input_names;
  // Constants that inputs are specialised to: ids in the graph's module, or -1.
  std::vector<int> input_values;
  // The input that replaces each value.
  absl::flat_hash_map<const Value*, int> inputs;
  // Values that are replaced by others, which are results of a node or have an input. Aliases join
  // nodes of several graphs that share symbols.
  absl::flat_hash_map<const Value*, const Value*> aliases;
  // Keep the conditions that relate the region's symbols to each other, too.
  bool conditions = false;
};

// The symbols in the spec's types and attributes that no node of it defines, in the order of the
// module's table.
std::vector<SymInt> FreeSymbols(const Graph& graph, const RegionSpec& spec);

// The nodes that `outputs` use, in order, with an input for each value of `boundary` and each input
// of the graph that they reach.
RegionSpec RegionUpTo(const Graph& graph, absl::Span<const Value* const> outputs,
                      const absl::flat_hash_set<const Value*>& boundary);

// The symbols that are not a bare size of any of the types.
std::vector<SymInt> Unbound(absl::Span<const SymInt> symbols, absl::Span<const Type> types);

// A module with one function @main that computes the outputs. It has the constants, the facts about
// symbols and the provenance of the graph. Symbols that a node outside of the region defines become
// sizes that inputs define; each symbol of `symint_inputs` gets an additional input, before the
// others, so that executors bind it first. The result is verified.
absl::StatusOr<std::unique_ptr<Module>> CutRegion(const Graph& graph, const RegionSpec& spec,
                                                  absl::Span<const SymInt> symint_inputs);

// A text that is equal for modules with the same computation: the text form with fingerprints in
// place of large constants.
std::string TextKey(const Module& module);

}  // namespace weft

#endif  // WEFT_API_CHECK_REGION_H_
