// Makes symbolic expressions: divisions, extrema, powers, conditions, selections.
#ifndef WEFT_GRAPH_SYM_SYM_OPS_H_
#define WEFT_GRAPH_SYM_SYM_OPS_H_

#include "absl/types/span.h"
#include "graph/sym/sym_int.h"

namespace weft {

// Rounds to minus infinity, as Python's // and %. A constant zero divisor gives
// Invalid(). Symbolic divisors are taken to be non-zero.
SymInt FloorDiv(SymInt a, SymInt b);
SymInt CeilDiv(SymInt a, SymInt b);
SymInt Mod(SymInt a, SymInt b);
SymInt Min(SymInt a, SymInt b);
SymInt Max(SymInt a, SymInt b);
// The NumPy broadcast of two sizes, which must be equal unless one is 1. Two different constants,
// neither of them 1, give Invalid().
SymInt BroadcastSize(SymInt a, SymInt b);
// a*a*...*a; 0 to the power 0 is 1. A negative constant exponent gives
// Invalid(); symbolic exponents are taken to be 0 or more.
SymInt Pow(SymInt a, SymInt exponent);
SymInt Product(absl::Span<const SymInt> values);

// Conditions: 1 where they hold, 0 elsewhere.
SymInt GreaterEqual(SymInt a, SymInt b);
SymInt LessEqual(SymInt a, SymInt b);
SymInt Greater(SymInt a, SymInt b);
SymInt Less(SymInt a, SymInt b);
SymInt Equal(SymInt a, SymInt b);
SymInt NotEqual(SymInt a, SymInt b);
// Logic of conditions.
SymInt Not(SymInt condition);
SymInt And(SymInt a, SymInt b);
SymInt Or(SymInt a, SymInt b);
// `a` if the condition holds, else `b`; the other operand may then be undefined. Common parts are
// moved out: select(c, 2*s0 + 3, s1 + 1) is select(c, 2*s0 + 2, s1) + 1.
SymInt Select(SymInt condition, SymInt a, SymInt b);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_OPS_H_
