// Costs of kernels: operations of nests as expressions over symbols, and the work of instructions
// on a target. Schedules, kept rows and the costs of steps read these.
#ifndef WEFT_LOWERING_KERNEL_COST_H_
#define WEFT_LOWERING_KERNEL_COST_H_

#include <cstdint>

#include "lowering/kernel.h"

namespace weft {

struct Target;

// Additions of a vector that take as long as the instruction: none for values that are there
// already (constants, sizes, indices, elements of rows, results of reductions), those that the
// target's costs say for divisions, roots and functions, and one for all others.
int64_t WorkOf(ScalarOp op, const Target& target);

// A function of the math library, or a division of integers or with a rest.
bool IsFunction(ScalarOp op);
// A division of floats or a root.
bool IsDivision(ScalarOp op);

// Additions, multiplications, comparisons and functions of single elements, those that reduce too.
// An instruction that is the same for all points of the inner loops counts once for each row.
SymInt FlopsOf(const Nest& nest);

// Elements that gathers of the argument read; 0 without any.
SymInt GatheredElements(const Nest& nest, int arg);

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_COST_H_
