// Shared by ops that are views and by their inverses.
#ifndef WEFT_GRAPH_OPS_SUPPORT_VIEW_H_
#define WEFT_GRAPH_OPS_SUPPORT_VIEW_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {
class AttrList;
class Builder;
class EvalContext;
class OpDef;
class Value;
struct Folded;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Checks, for `scatter(Tensor self, Tensor src, ...)` with the attributes of the view op `view`,
// that src has the type of the view of self.
absl::Status CheckViewed(const OpArgs& args, const OpDef& view);
// self with the elements that `view` shows replaced by those of src; of elements that are shown
// twice the last one wins.
absl::Status EvalScatterOf(EvalContext& c, const OpDef& view);

// FoldViewOfScatter: the src of `scatter`, if `args` views the result of that op.
// FoldScatterOfView: the self of the scatter `args`, if src is `view` of it. Both require equal
// attributes; see SameSlice.
Folded FoldViewOfScatter(const OpArgs& args, const OpDef& scatter);
Folded FoldScatterOfView(const OpArgs& args, const OpDef& view);

// True if slice on operand 0 of `args` selects the same elements with both lists of attributes,
// even if these are written differently.
bool SameSlice(const OpArgs& args, const AttrList* a, const AttrList* b);

// The inverse of a view by such an op: scatter(base, update), with the view's
// attributes.
Value* ScatterBack(Builder& b, const OpDef& scatter, const OpArgs& view, Value* base,
                   Value* update);
// The inverse of any view that shows no element twice, by index, for views without an inverse op.
Value* ScatterByIndex(Builder& b, const OpArgs& view, Value* base, Value* update);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_VIEW_H_
