// What the rules of canonicalize share: short names, conditions, right sides.
#ifndef WEFT_PASSES_CANONICALIZE_MATCH_H_
#define WEFT_PASSES_CANONICALIZE_MATCH_H_

#include <cstdint>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "passes/engine/rewrite/constants.h"
#include "passes/engine/rewrite/pattern.h"
#include "passes/engine/rewrite/predicates.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {
class SymbolTable;
}  // namespace weft

namespace weft::canonicalize {

inline constexpr NumericContract kBitExact = NumericContract::kBitExact;
inline constexpr NumericContract kValueSafe = NumericContract::kValueSafe;
inline constexpr NumericContract kReassociating = NumericContract::kReassociating;
inline constexpr NumericContract kApproximate = NumericContract::kApproximate;

// An attribute that counts dims, with negative ones counted from the end.
inline int DimAttr(const Node& node, absl::string_view name, int rank) {
  const int64_t dim = node.attrs().Int(name);
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}
std::vector<int64_t> DimsAttr(const Node& node, absl::string_view name, int rank);

inline DType DTypeOf(const Value* value) { return value->type().dtype(); }

const SymbolTable& SymbolsOf(const Node& node);
bool ProvablyEqual(const Node& node, SymInt a, SymInt b);
bool ProvablyNotNegative(const Node& node, SymInt a);
// The number of dims of size 1 that come in front of `from` in `to`, which is
// otherwise the same; -1 when it is not.
int LeadingOnes(Type from, Type to);
// The root's op makes a value of the root's type of these operands, too.
bool KeepsTypeWith(const Node& root, absl::Span<Value* const> operands);

// Conditions.
inline constexpr Guard kKeepsType = {"x has the result's type", [](const Node& root, Match& m) {
                                       return m[pattern::x]->type() == root.result()->type();
                                     }};
inline constexpr Guard kNotRounded = {"the quotient is not rounded", [](const Node& root, Match&) {
                                        return !root.attrs().Has("rounding_mode");
                                      }};

// Right sides.

// The root's op and attributes, of `operands`.
Value* LikeRoot(const Match& m, absl::Span<Value* const> operands, Rewriter& rewriter);
// The root with x in place of its first operand.
Value* BuildOnX(const Match& m, Rewriter& rewriter);
// The root on m.values.
Value* BuildOnValues(const Match& m, Rewriter& rewriter);
// x with the root's dims.
Value* BuildReshape(const Match& m, Rewriter& rewriter);
Value* BuildExpand(const Match& m, Rewriter& rewriter);
// `number` of the root's type.
Value* BuildSplat(const Match& m, double number, Rewriter& rewriter);
inline Value* BuildZeros(const Match& m, Rewriter& rewriter) { return BuildSplat(m, 0, rewriter); }
inline Value* BuildOnes(const Match& m, Rewriter& rewriter) { return BuildSplat(m, 1, rewriter); }

}  // namespace weft::canonicalize

#endif  // WEFT_PASSES_CANONICALIZE_MATCH_H_
