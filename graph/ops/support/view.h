// What ops that are views, and the ops that undo them, share.
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

// For `scatter(Tensor self, Tensor src, ...)` with the attributes of the view
// op `view`: src has the type of the view of self.
absl::Status CheckViewed(const OpArgs& args, const OpDef& view);
// self with the elements that `view` shows replaced by those of src; of
// elements that are shown twice the last one wins.
absl::Status EvalScatterOf(EvalContext& c, const OpDef& view);

// What `scatter`, the op of EvalScatterOf, put where the view `args` looks; and
// self of `args`, a scatter, where src is what `view` shows of it already.
// Both for equal attributes; see SameSlice.
Folded FoldViewOfScatter(const OpArgs& args, const OpDef& scatter);
Folded FoldScatterOfView(const OpArgs& args, const OpDef& view);

// True when slice on operand 0 of `args` takes the same elements by both lists of
// attributes, however they are written.
bool SameSlice(const OpArgs& args, const AttrList* a, const AttrList* b);

// The inverse of a view by such an op: scatter(base, update), with the view's
// attributes.
Value* ScatterBack(Builder& b, const OpDef& scatter, const OpArgs& view, Value* base,
                   Value* update);
// The inverse of any view that shows no element twice, by index: for views
// without an op of their own for that.
Value* ScatterByIndex(Builder& b, const OpArgs& view, Value* base, Value* update);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_VIEW_H_
