// A value behind views that are yet to be made, so that a decision can speak of what an edit will
// see.
#ifndef WEFT_PASSES_FUSE_ATTENTION_VIEWED_VALUE_H_
#define WEFT_PASSES_FUSE_ATTENTION_VIEWED_VALUE_H_

#include <vector>

#include "graph/ir/value.h"
#include "graph/sym/sym_int.h"

namespace weft {

class AttrList;
class OpDef;

struct ViewedValue {
  struct View {
    const OpDef* op = nullptr;
    const AttrList* attrs = nullptr;
    std::vector<SymInt> dims;  // The sizes of its result.
  };

  Value* base = nullptr;
  std::vector<View> views;  // The outermost one is last.

  std::vector<SymInt> dims() const;
  // The outermost view, of the graph or to be made, is one of `op`.
  bool Is(const OpDef& op) const;
  // That view, of a value that Is() one.
  View outermost() const;
  void DropOutermost();

  void Reshape(const std::vector<SymInt>& size);
  void Expand(const std::vector<SymInt>& size);
  // Swaps the last two dims; where the outermost view is a permute, in one with it.
  void Transpose();
};

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_ATTENTION_VIEWED_VALUE_H_
