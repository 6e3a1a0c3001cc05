// Reads symbolic expressions: kinds, order, symbols, values.
#ifndef WEFT_GRAPH_SYM_SYM_EXPR_H_
#define WEFT_GRAPH_SYM_SYM_EXPR_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_int.h"

namespace weft {

enum class SymInt::Kind : uint8_t {
  kConst,
  kSymbol,
  kProduct,   // coefficient() * args...
  kSum,       // coefficient() + args...
  kFloorDiv,  // floor(args[0] / args[1])
  kMod,       // args[0] - args[1] * floor(args[0] / args[1])
  kMin,
  kMax,
  kBroadcast,    // NumPy broadcasting of sizes: the size that is not 1.
  kPow,          // args[0] to the power args[1], which is not constant.
  kSelect,       // args[1] if the condition args[0] holds, else args[2].
  kNonNegative,  // 1 if args[0] >= 0, else 0.
  kZero,         // 1 if args[0] == 0, else 0.
  kInvalid,
};

// True if the form shows that `s` is 0 or 1 for every assignment: `s` is a sum of products of at
// most six distinct comparisons, and is 0 or 1 whichever of them hold.
bool IsTruth(SymInt s);

// True if ToString() writes the symbol's name unquoted: letters, digits, `_` and `.`, not beginning
// with a digit or `.`, and not a keyword of the text form.
bool IsPlainSymbolName(absl::string_view name);

// A total order that depends on structure alone: -1, 0 or 1.
int Compare(SymInt a, SymInt b);

// Calls `fn` once for each distinct symbol in `s`, in structural order.
void ForEachSymbol(SymInt s, absl::FunctionRef<void(SymInt)> fn);
bool ContainsSymbol(SymInt s, SymInt symbol);

// Replaces symbols: `fn` gives the replacement, or nullopt to keep the symbol.
SymInt Substitute(SymInt s, absl::FunctionRef<std::optional<SymInt>(SymInt)> fn);
// Value for an assignment; nullopt when a symbol has no value, a divisor is
// zero, an exponent negative, sizes do not broadcast, or 64 bits do not hold the
// result or a power in it.
std::optional<int64_t> Evaluate(SymInt s,
                                absl::FunctionRef<std::optional<int64_t>(SymInt)> value_of);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_EXPR_H_
