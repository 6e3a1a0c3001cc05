// What passes that fuse ask about nodes and types.
#ifndef WEFT_PASSES_FUSE_NODES_H_
#define WEFT_PASSES_FUSE_NODES_H_

#include <vector>

#include "graph/sym/sym_int.h"

namespace weft {

class Node;
class SymbolTable;

// One result whose element is a function of the operands' elements there, as the
// body of a kernel can compute it: elementwise ops, where, convert, and quantize_linear and
// dequantize_linear of integers.
bool IsPointwise(const Node& node);
// Shows elements of its operand elsewhere, dim by dim, as its element map says: expand, permute,
// slice, select, and reshapes that only add or remove sizes of 1.
bool IsView(const Node& node);
// Sizes are provably the same.
bool SameDims(absl::Span<const SymInt> a, absl::Span<const SymInt> b, const SymbolTable& symbols);
// The first result of the two has equal sizes.
bool SameSpace(const Node& a, const Node& b);

// What a reduction goes over: the sizes of its operand and the dims, in order.
struct ReductionSpace {
  std::vector<SymInt> dims;
  std::vector<int> axes;
  // No other reduction goes over the same parts, as the groups of group_norm.
  bool alone = false;
};
// Whether the node combines or normalises the elements of its first operand along
// some dims: sum, amax, argmax, softmax, native_layer_norm, group_norm, ...
bool IsReduction(const Node& node);
ReductionSpace SpaceOf(const Node& reduction);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_NODES_H_
