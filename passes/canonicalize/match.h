// What the rules of canonicalize look at. Nothing here edits.
#ifndef WEFT_PASSES_CANONICALIZE_MATCH_H_
#define WEFT_PASSES_CANONICALIZE_MATCH_H_

#include "graph/core/graph.h"
#include "graph/core/op.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/rewriter.h"
#include "passes/rewrite/rule.h"

namespace weft::canonicalize {

// The node that defines `value`, when it is of that op.
inline const Node* DefinedBy(const Value* value, const OpDef& op) {
  return value != nullptr && value->IsResultOf(op) ? value->node() : nullptr;
}

// An attribute that counts dims, with negative ones counted from the end.
inline int DimAttr(const Node& node, absl::string_view name, int rank) {
  const int64_t dim = node.attrs().Int(name);
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

inline DType DTypeOf(const Value* value) { return value->type().dtype(); }
inline bool IsFloatValue(const Value* value) {
  return IsFloat(DTypeOf(value));
}
inline bool IsIntValue(const Value* value) { return IsInt(DTypeOf(value)); }

inline const SymbolTable& SymbolsOf(const Node& node) {
  return node.graph()->module().symbols();
}
inline bool ProvablyEqual(const Node& node, SymInt a, SymInt b) {
  return a == b || SymbolsOf(node).ProveEq(a, b) == Proof::kYes;
}
inline bool ProvablyNotNegative(const Node& node, SymInt a) {
  return SymbolsOf(node).RangeOf(a).min >= 0;
}

// Builds m.value: for rules whose right side exists already.
Value* BuildValue(const Match& m, Rewriter& rewriter);
// The constant that `op`, without attributes, makes of constants.
Value* BuildFolded(const OpDef& op, absl::Span<Value* const> operands,
                   Rewriter& rewriter);
// `number` of `dtype`, expanded to the root's dims.
Value* BuildSplat(const Match& m, double number, Rewriter& rewriter);

}  // namespace weft::canonicalize

#endif  // WEFT_PASSES_CANONICALIZE_MATCH_H_
