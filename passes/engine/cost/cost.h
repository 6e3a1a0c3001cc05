// What a node costs, analytically: operations and bytes as expressions over the
// symbols of the program, for cost models of passes, for profiles and for
// benchmarks.
//
// Operations: one for each arithmetic operation, comparison or elementary
// function (exp, erf, division, ...) on an element, whatever its dtype; a
// multiply-add counts two. Conversion, selection and movement count none. A
// composite op counts as its formula is written, not as a target may run it;
// padding of windows is counted as if it were there.
//
// Bytes: operands read once each, results with users written once. A gather
// reads what it takes; a view of its operand costs nothing. What a node finds
// in a cache is not looked at.
//
// A table for each family (cost_*.cc) says how an op is counted; ops that are
// in none are counted by their traits, and those that cannot be are listed with
// the reason. CostCoverage() tells of every op which it is.
#ifndef WEFT_PASSES_ENGINE_COST_COST_H_
#define WEFT_PASSES_ENGINE_COST_COST_H_

#include <string>
#include <vector>

#include "graph/tensor/type.h"

namespace weft {

class Node;
class OpDef;
class OpRegistry;

struct NodeCost {
  // Invalid() when nothing says how many (UncountedReason).
  SymInt flops = 0;
  SymInt read = 0;
  SymInt written = 0;
};

// Without nested graphs: a node that holds some costs its operands and results.
NodeCost CostOf(const Node& node);

// numel times the size of an element, rounded up to bytes; 0 for what is no
// tensor.
SymInt BytesOf(Type type);

// True when the op reads no more of its first operand than its results hold:
// gathers and views.
bool ReadsPart(const OpDef& op);

// Why the operations of an op are not counted; null when they are.
const char* UncountedReason(const OpDef& op);

struct CostCoverage {
  enum class Way {
    kTable,      // A row of a family's table.
    kPointwise,  // By its trait: one operation for each element of a result.
    kReduction,  // By its trait: one for each element of the first operand.
    kMovement,   // By its trait: none.
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

#endif  // WEFT_PASSES_ENGINE_COST_COST_H_
