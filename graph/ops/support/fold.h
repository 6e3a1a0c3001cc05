// Folds that ops share. A fold is bit-exact and keeps the type.
#ifndef WEFT_GRAPH_OPS_SUPPORT_FOLD_H_
#define WEFT_GRAPH_OPS_SUPPORT_FOLD_H_

#include <cstdint>

namespace weft {
class Value;
struct Folded;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// True when operand `i` has the type of the op's (first) result, so that a fold
// may return it.
bool KeepsType(const OpArgs& args, int i);
// The operand if KeepsType, else nothing.
Folded FoldTo(const OpArgs& args, int i);

// True if every element of the constant `value` is `number`: compared by value for integers and
// bools, by value and sign for floats. False for other values and for constants without elements.
bool IsSplatOf(const Value* value, double number);
// True if `value` is a constant of integers or bools, and all elements are `number`.
bool IsIntSplatOf(const Value* value, int64_t number);

// op(op(x)) = op(x), with equal attributes and other operands.
Folded FoldIdempotent(const OpArgs& args);
// op(op(x)) = x.
Folded FoldInvolution(const OpArgs& args);
// On integers and bools op(x) = x; on floats op(op(x)) = op(x).
Folded FoldIntegral(const OpArgs& args);
// op(x, x) = x.
Folded FoldEqualOperands(const OpArgs& args);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_FOLD_H_
