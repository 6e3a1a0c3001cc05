// Costs of the nodes of a program: operations and bytes as expressions over its symbols. Fusion,
// layout, schedules, steps of plans, profiles and benchmarks read these; what a machine makes of
// them are numbers of its Target.
//
// Operations: one for each arithmetic operation, comparison or elementary
// function (exp, erf, division, ...) on an element, whatever its dtype; a
// multiply-add counts two. Conversion, selection and movement count none. A
// composite op counts as its formula is written, not as a target may run it;
// padding of windows is counted as if it were there. The slot `Flops` of an op
// says how many (graph/ir/op_def.h).
//
// Bytes: operands read once each, results with users written once. A gather
// reads what it takes; a view of its operand costs nothing. What a node finds
// in a cache is not looked at.
//
// A group costs the operations of its nodes, and the bytes that enter and leave it. Kernels and
// steps are counted by lowering/kernel_cost.h and lowering/step_cost.h, in the same units.
#ifndef WEFT_GRAPH_COST_COST_H_
#define WEFT_GRAPH_COST_COST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor/type.h"

namespace weft {

class Node;
class OpDef;
class OpRegistry;
class SymbolTable;

struct NodeCost {
  // Invalid() when nothing says how many (UncountedReason).
  SymInt flops = 0;
  // Those of the operations that are divisions, roots or elementary functions, as far as ops tell.
  SymInt functions = 0;
  SymInt read = 0;
  SymInt written = 0;
};

// Without nested graphs: a node that holds some costs its operands and results.
NodeCost CostOf(const Node& node);

// A pointwise node of at most two operations for each element, none of them a division, a root or
// an elementary function: to compute an element again takes less time than to store and load it.
bool IsCheap(const Node& node);

// numel times the size of an element, rounded up to bytes; 0 for what is no
// tensor.
SymInt BytesOf(Type type);
SymInt BytesOf(DType dtype, SymInt numel);

// True when the op reads no more of its first operand than its results hold:
// gathers and views.
bool ReadsPart(const OpDef& op);

// The value that a decision counts a size with: symbols count as their hints, and those without as
// kUsualSize within their bounds. Nothing where an expression has no value, as a division by 0.
inline constexpr int64_t kUsualSize = 64;
std::optional<int64_t> UsualSize(SymInt size, const SymbolTable& symbols);

// Why the operations of an op are not counted; null when they are.
const char* UncountedReason(const OpDef& op);

struct CostCoverage {
  enum class Way {
    kStated,     // By its slot `Flops`.
    kPointwise,  // By its trait: one operation for each element of a result.
    kReduction,  // By its trait: one for each element of the first operand.
    kMovement,   // By its trait or its slot: none.
    kNested,     // Holds nested graphs, whose nodes are counted.
    kUncounted,  // UncountedReason says why.
    kMissing,    // A defect.
  };
  std::string op;
  Way way = Way::kMissing;
};

// Every op of the registry, by name.
std::vector<CostCoverage> CostCoverageOf(const OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_GRAPH_COST_COST_H_
