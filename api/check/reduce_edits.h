// Single steps of a reduction: each gives a smaller or plainer module, or nothing
// when it does not apply. What they give need not verify.
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

using Candidate = std::unique_ptr<Module>;  // Null: does not apply.

std::vector<const Node*> NodesOf(const Graph& graph);

// What `outputs` need of the graph, with inputs in the place of `boundary`.
Candidate Keep(const Graph& graph, const std::vector<const Value*>& outputs,
               const std::vector<const Value*>& boundary = {});
// `graph` as @main, and no other function.
Candidate KeepFunction(const Graph& graph);
// What is used after the node at `position` becomes the outputs.
Candidate CutAfter(const Graph& graph, int64_t position);
// Values defined before `position` become inputs.
Candidate CutBefore(const Graph& graph, int64_t position);
// The results of nodes [first, last) become inputs.
Candidate NodesToInputs(const Graph& graph, int64_t first, int64_t last);

// The only result of the node at `position` becomes its operand `index`, when
// the types are equal.
Candidate NodeToOperand(const Graph& graph, int64_t position, int index);
// It becomes a constant whose elements all are `number`; for few elements.
Candidate NodeToConstant(const Graph& graph, int64_t position, double number);
// It becomes what its nested graph `region` computes from inputs of its own.
Candidate InlineRegion(const Graph& graph, int64_t position, int region);

// Input `from` becomes input `to`, of the same type.
Candidate MergeInputs(const Graph& graph, int from, int to);
// The size `from`, a number or a symbol, becomes `to` in all inputs, constants
// and attributes that take sizes; types are inferred again. Not for modules with
// nested graphs.
Candidate Resize(const Graph& graph, SymInt from, int64_t to);
// The constant of the node at `position` gets equal elements.
Candidate PlainConstant(const Graph& graph, int64_t position, double number);

// Sizes that Resize can make smaller, largest first.
std::vector<SymInt> SizesOf(const Graph& graph);

}  // namespace weft::reduce

#endif  // WEFT_API_CHECK_REDUCE_EDITS_H_
