// Shared by the rules of canonicalize: short names, conditions, right sides.
#ifndef WEFT_PASSES_CANONICALIZE_MATCH_H_
#define WEFT_PASSES_CANONICALIZE_MATCH_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
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

// A dim of `rank` counted from the front; a negative one counts from the end.
inline int FromFront(int64_t dim, int rank) { return static_cast<int>(dim < 0 ? dim + rank : dim); }
std::vector<int64_t> FromFront(std::vector<int64_t> dims, int rank);
// The dim along which a cat joins, or a slice is taken, counted from the front.
int CatDim(const Node& cat);
int SliceDim(const Node& slice);
// The end of a slice that extends to the end of its operand.
inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
// The dims of a permute's operand in the order of the result's, counted from the front.
std::vector<int64_t> PermutedDims(const Node& permute);

inline DType DTypeOf(const Value* value) { return value->type().dtype(); }

const SymbolTable& SymbolsOf(const Node& node);
bool ProvablyEqual(const Node& node, SymInt a, SymInt b);
bool ProvablyNotNegative(const Node& node, SymInt a);
// The number of dims of size 1 that `to` has before the dims of `from`; -1 if `to` is anything
// else.
int LeadingOnes(Type from, Type to);
// True if the root's op infers the root's type for these operands too.
bool KeepsTypeWith(const Node& root, absl::Span<Value* const> operands);

// Conditions.
inline constexpr Guard kKeepsType = {"x has the result's type", [](const Node& root, Match& m) {
                                       return m[pattern::x]->type() == root.result()->type();
                                     }};
inline constexpr Guard kNotRounded = {"the quotient is not rounded", [](const Node& root, Match&) {
                                        return !ops::DivView(root).rounding_mode();
                                      }};

// Right sides.

// The root's op and attributes on `operands`.
Value* LikeRoot(const Match& m, absl::Span<Value* const> operands, Rewriter& rewriter);
// The root with x in place of its first operand.
Value* BuildOnX(const Match& m, Rewriter& rewriter);
// Operands for the root, found by a guard.
struct Operands {
  std::vector<Value*> values;
};
Value* BuildOnOperands(const Match& m, Rewriter& rewriter);
// x with the root's dims.
Value* BuildReshape(const Match& m, Rewriter& rewriter);
Value* BuildExpand(const Match& m, Rewriter& rewriter);
// A constant of the root's type with all elements equal to `number`.
Value* BuildSplat(const Match& m, double number, Rewriter& rewriter);
inline Value* BuildZeros(const Match& m, Rewriter& rewriter) { return BuildSplat(m, 0, rewriter); }
inline Value* BuildOnes(const Match& m, Rewriter& rewriter) { return BuildSplat(m, 1, rewriter); }

}  // namespace weft::canonicalize

#endif  // WEFT_PASSES_CANONICALIZE_MATCH_H_
