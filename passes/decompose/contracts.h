// What the decomposition of an op does to the numbers.
//
// An op without Eval means what its decomposition computes, and one that only
// moves elements has no other right decomposition than one that moves the same
// ones: both are bit-exact. Every other op of graph/ops has a row in the table
// of contracts.cc. Ops that a program brings itself are reassociating unless
// one of the two holds.
//
// A contract is of one step. The ops that a decomposition is made of may be
// composites, whose own decompositions have their own contracts.
#ifndef WEFT_PASSES_DECOMPOSE_CONTRACTS_H_
#define WEFT_PASSES_DECOMPOSE_CONTRACTS_H_

#include <optional>

#include "passes/engine/pass_context.h"

namespace weft {

class OpDef;

// Requires a composite.
NumericContract DecompositionContract(const OpDef& op);

// As it follows from the op, or stands in the table; nothing for an op that has
// neither.
std::optional<NumericContract> KnownContract(const OpDef& op);

}  // namespace weft

#endif  // WEFT_PASSES_DECOMPOSE_CONTRACTS_H_
