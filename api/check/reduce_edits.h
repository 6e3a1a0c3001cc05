// Single steps of a reduction. Each returns a smaller or plainer module, or null if it does not
// apply. The result may be invalid.
#ifndef WEFT_API_CHECK_REDUCE_EDITS_H_
#define WEFT_API_CHECK_REDUCE_EDITS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/sym/sym_int.h"

namespace weft {
class Graph;
class Module;
class Node;
class Value;
}  // namespace weft

namespace weft::reduce {

using Candidate = std::unique_ptr<Module>;  // Null: the step does not apply.

std::vector<const Node*> NodesOf(const Graph& graph);

// The nodes that `outputs` use, with inputs in place of `boundary`.
Candidate Keep(const Graph& graph, const std::vector<const Value*>& outputs,
               const std::vector<const Value*>& boundary = {});
// `graph` as @main, without other functions.
Candidate KeepFunction(const Graph& graph);
// Values that are used after the node at `position` become outputs.
Candidate CutAfter(const Graph& graph, int64_t position);
// Values defined before `position` become inputs.
Candidate CutBefore(const Graph& graph, int64_t position);
// The results of nodes [first, last) become inputs.
Candidate NodesToInputs(const Graph& graph, int64_t first, int64_t last);

// The single result of the node at `position` is replaced by its operand `index`, if the types are
// equal.
Candidate NodeToOperand(const Graph& graph, int64_t position, int index);
// The result is replaced by a constant with all elements equal to `number`; for few elements only.
Candidate NodeToConstant(const Graph& graph, int64_t position, double number);
// The node is replaced by its nested graph `region`, with new inputs.
Candidate InlineRegion(const Graph& graph, int64_t position, int region);

// Input `from` is replaced by input `to`, which has the same type.
Candidate MergeInputs(const Graph& graph, int from, int to);
// The size `from`, a number or a symbol, becomes `to` in all inputs, constants and size attributes;
// types are inferred again. Does not apply to modules with nested graphs.
Candidate Resize(const Graph& graph, SymInt from, int64_t to);
// All elements of the constant node at `position` become `number`.
Candidate PlainConstant(const Graph& graph, int64_t position, double number);

// Sizes that Resize can reduce, the largest first.
std::vector<SymInt> SizesOf(const Graph& graph);

}  // namespace weft::reduce

#endif  // WEFT_API_CHECK_REDUCE_EDITS_H_
