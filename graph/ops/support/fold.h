// Folds that ops share. A fold is exact to the bit and keeps the type.
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
// The operand when KeepsType, else nothing.
Folded FoldTo(const OpArgs& args, int i);

// True when every element of the constant `value` is `number`: of integers and
// bools by value, of floats by value and sign. False for other values and for
// constants without elements.
bool IsSplatOf(const Value* value, double number);
// True when `value` is a constant whose elements are integers or bools, and ...
bool IsIntSplatOf(const Value* value, int64_t number);

// op(op(x)) = op(x), with equal attributes and further operands.
Folded FoldIdempotent(const OpArgs& args);
// op(op(x)) = x.
Folded FoldInvolution(const OpArgs& args);
// On integers and bools op(x) = x; on floats op(op(x)) = op(x).
Folded FoldIntegral(const OpArgs& args);
// op(x, x) = x.
Folded FoldEqualOperands(const OpArgs& args);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_FOLD_H_
