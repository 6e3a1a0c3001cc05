// Parts of graphs as modules of their own, to run or show them alone.
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

// What to cut out of a graph. The nodes are in the graph's order; what they and
// the outputs use is a result of one of them or stands in `inputs`.
struct RegionSpec {
  std::vector<const Node*> nodes;
  std::vector<const Value*> outputs;
  // Types of the inputs of the new function, in order.
  std::vector<Type> input_types;
  // Their names; may be empty.
  std::vector<std::string> input_names;
  // Constants that inputs are specialised to: ids in the graph's module, or -1.
  std::vector<int> input_values;
  // Which input stands for a value.
  absl::flat_hash_map<const Value*, int> inputs;
  // Values in whose place others are used, of a node or with an input. Nodes may
  // come from several graphs that share symbols, joined by these.
  absl::flat_hash_map<const Value*, const Value*> aliases;
};

// The symbols that the spec's types and attributes mention and no node of it
// defines, in the order of the module's table.
std::vector<SymInt> FreeSymbols(const Graph& graph, const RegionSpec& spec);

// The nodes that `outputs` need, in order, with an input for each of `boundary`
// and each input of the graph that they meet.
RegionSpec RegionUpTo(const Graph& graph, absl::Span<const Value* const> outputs,
                      const absl::flat_hash_set<const Value*>& boundary);

// Those of `symbols` that no type is a bare use of.
std::vector<SymInt> Unbound(absl::Span<const SymInt> symbols, absl::Span<const Type> types);

// A module with one function @main that computes the outputs. Constants, facts
// about symbols and provenance come along. Symbols that a node outside of the
// region defines become sizes that the inputs bring; `symint_inputs` gives each
// of these symbols an input of its own, before the others, where executors learn it first. The
// result is verified.
absl::StatusOr<std::unique_ptr<Module>> CutRegion(const Graph& graph, const RegionSpec& spec,
                                                  absl::Span<const SymInt> symint_inputs);

// A text that is equal for modules that compute the same in the same way: the
// text form with fingerprints in the place of large constants.
std::string TextKey(const Module& module);

}  // namespace weft

#endif  // WEFT_API_CHECK_REGION_H_
