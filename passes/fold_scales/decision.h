// Which quantize_linear lose their scale to the constants before them: decided without an edit,
// printed, and applied by fold_scales.
//
// Two computations of a result round it alike or to neighbours if they differ by less than one.
// Each rounds a few times to f32, relative to the largest of the terms that are added. Results in
// the range of 8 bits are below 2^9, so if all terms but one are below 2^20, that one is too, and a
// few errors of 2^-24 of it are below one. A result out of that range is clamped either way.
#ifndef WEFT_PASSES_FOLD_SCALES_DECISION_H_
#define WEFT_PASSES_FOLD_SCALES_DECISION_H_

#include <string>
#include <vector>

#include "passes/fuse/decision.h"

namespace weft {

class Graph;
class Node;
class Value;

struct ScaledCandidate {
  Node* node = nullptr;  // The quantize_linear.
  double scale = 1;
  // The nodes that compute its operand from integers, users before operands. Only they and `node`
  // use the value of one, but that of a dequantize_linear.
  std::vector<Node*> nodes;
  // Why the operand is nothing of that kind; null: it is.
  const char* refusal = nullptr;
};

struct ScaleDecision {
  std::vector<ScaledCandidate> folds;
  std::vector<NodeRefusal> refusals;
};

// In the graph's order. Those whose operand has nothing to do with integers are left out.
std::vector<ScaledCandidate> CollectScaled(const Graph& graph);
ScaleDecision DecideScales(std::vector<ScaledCandidate> candidates);

// Operands of such a node that are divided as constants: those of an add, a mul or a clamp, and
// the scale of a dequantize_linear.
bool IsDividedConstant(const Node& node, int operand);

// "%7 = quantize_linear: its scale goes into 3 nodes", then the refusals, a line each.
std::string ToString(const ScaleDecision& decision);

}  // namespace weft

#endif  // WEFT_PASSES_FOLD_SCALES_DECISION_H_
