// Values that the nested graphs of cond, loop and scan are given and hand on.
#ifndef WEFT_PASSES_QUANTIZE_REGION_EDIT_H_
#define WEFT_PASSES_QUANTIZE_REGION_EDIT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace weft {

class Graph;
class Node;
class Value;

// Whether the nested graphs of the node can hand values on: cond, loop, scan.
bool CanCarry(const Node& node);

struct CarriedValues {
  // Takes the place of the node.
  Node* node = nullptr;
  // The new values behind the node.
  std::vector<Value*> results;
  // The new inputs, by nested graph.
  std::vector<std::vector<Value*>> inputs;
  // Where the outputs of each nested graph lack as many new ones (InsertOutputs).
  int first_output = 0;
};

// Replaces the node by one that `values` go through: operands and results of a cond, carried values
// of a loop or scan. Inputs are called `names`. The nested graphs lack the outputs for them.
CarriedValues CarryValues(Node* node, absl::Span<Value* const> values,
                          absl::Span<const std::string> names);
void InsertOutputs(Graph& graph, int first, absl::Span<Value* const> values);

// Replaces the node by one without these operands and results, both ascending, which have no uses:
// neither the results, nor the nested graphs' inputs but as outputs for these results.
Node* DropValues(Node* node, const std::vector<int>& operands, const std::vector<int>& results);

// The input of nested graphs that an operand is, and the output that a result is; -1 without one.
int InputOf(const Node& node, int operand);
int OutputOf(const Node& node, int result);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_REGION_EDIT_H_
