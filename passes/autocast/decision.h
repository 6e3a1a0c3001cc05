// Which nodes autocast computes in the low dtype: a decision that is made without an edit, printed,
// and applied by the pass.
#ifndef WEFT_PASSES_AUTOCAST_DECISION_H_
#define WEFT_PASSES_AUTOCAST_DECISION_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/tensor/dtype.h"
#include "passes/autocast/lists.h"

namespace weft {

class Graph;
class Module;
class Node;

struct CastSettings {
  // bf16 or f16.
  DType low = DType::kBF16;
  // A pointwise op of values of both dtypes is low, where the lists would widen it.
  bool narrow_mixed = false;
  // Nodes that stay f32: names of ops, and names of source nodes with *.
  std::vector<std::string> keep;
};

// A node, and those of its f32 operands that it is to take in the low dtype. Results that are f32
// have the low dtype then, as the op's shape function says.
struct LoweredNode {
  Node* node = nullptr;
  // Position of the node in its graph.
  int place = 0;
  std::vector<int> operands;
  // "low": it is on that list; "widest": it follows its operands; "sunk": it only moves elements,
  // and all that read its results take them in the low dtype.
  const char* reason = "";
};

// An input of nested graphs that all of them read in the low dtype alone: the operand of their node
// is rounded outside, once.
struct LoweredInput {
  Node* owner = nullptr;
  int place = 0;
  int operand = 0;
  int input = 0;
};

// A node on the list `low`, or one with a low operand, that stays f32.
struct CastRefusal {
  const Node* node = nullptr;
  std::string reason;
};

// The decisions of one graph, nodes and inputs each in its order.
struct GraphCasts {
  Graph* graph = nullptr;
  std::vector<LoweredNode> nodes;
  std::vector<LoweredInput> inputs;
  std::vector<CastRefusal> refusals;
};

struct CastDecision {
  // By graph, outer before inner.
  std::vector<GraphCasts> graphs;
  // Entries of `keep` that meet no node.
  std::vector<std::string> unmet;
  bool empty() const;
};

// f32 tensors alone are lowered: tensors of other dtypes, and ops whose meaning or whose types
// would be others, stay. Nodes with effects, sizes that depend on data, or nested graphs keep their
// f32 operands and results; nested graphs, except those of `fused`, are decided by themselves.
// A constant, or a parameter's initial value, with an element that the low dtype takes for an
// infinity stays f32, and so does one with no element that keeps all of its bits. What additions,
// products and choices make of the former, such as a mask, stays f32 as well; other values are not
// bounded, so that f16 may overflow where a program computes larger numbers.
CastDecision DecideCasts(const Module& module, const AutocastLists& lists,
                         const CastSettings& settings);

// "%2 = convolution: low, operands 0 1" for each node, "%5 = scan: operand 2 (input 1)" for each
// input, then "%3 = softmax: f32: operand 1 is f32" for each refusal; a line each.
std::string ToString(const CastDecision& decision);

}  // namespace weft

#endif  // WEFT_PASSES_AUTOCAST_DECISION_H_
