// Symbolic integer expressions: the dims of every tensor type and the sizes in
// attributes.
//
// A SymInt is a value of 8 bytes. Small constants are stored inline; everything
// else is a hash-consed node, so equal canonical forms compare equal by
// identity. Expressions say nothing about what a symbol may be: ranges,
// divisibility and hints are facts of a SymbolTable (sym_facts.h).
//
// Canonical form: a sum of products with integer coefficients, in a fixed
// structural order, over atoms: symbols, floordiv, mod, min, max, broadcast,
// powers with symbolic exponents, comparisons, which are 1 where they hold and 0
// elsewhere, and selections by a condition.
// Arithmetic is that of unbounded integers; a result that leaves 64 bits, or an
// expression past kMaxTerms terms or kMaxDepth levels, is the absorbing value
// Invalid(), which the verifier refuses.
//
// Nodes live until the process ends. They are shared between modules and
// threads; creation is thread-safe.
#ifndef WEFT_GRAPH_SYM_SYM_H_
#define WEFT_GRAPH_SYM_SYM_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

struct SymNode;

class SymInt {
 public:
  enum class Kind : uint8_t {
    kConst,
    kSymbol,
    kProduct,   // coefficient() * args...
    kSum,       // coefficient() + args...
    kFloorDiv,  // floor(args[0] / args[1])
    kMod,       // args[0] - args[1] * floor(args[0] / args[1])
    kMin,
    kMax,
    kBroadcast,    // NumPy broadcasting of sizes: the one that is not 1.
    kPow,          // args[0] to the power args[1], which is not constant.
    kSelect,       // args[1] where the condition args[0] holds, else args[2].
    kNonNegative,  // 1 where args[0] >= 0, else 0.
    kZero,         // 1 where args[0] == 0, else 0.
    kInvalid,
  };
  static constexpr int kMaxTerms = 256;
  static constexpr int kMaxDepth = 48;

  constexpr SymInt() : rep_(1) {}
  SymInt(int64_t value);                                      // NOLINT: constants are dims.
  SymInt(int value) : SymInt(static_cast<int64_t>(value)) {}  // NOLINT

  // The symbol of that name; the same name is the same symbol everywhere.
  static SymInt Symbol(absl::string_view name);
  static SymInt Invalid();

  Kind kind() const;
  bool is_constant() const;
  bool is_symbol() const { return kind() == Kind::kSymbol; }
  bool is_valid() const { return kind() != Kind::kInvalid; }
  std::optional<int64_t> constant() const;
  // Requires is_constant().
  int64_t value() const;
  bool Is(int64_t value) const { return *this == SymInt(value); }

  // Requires is_symbol().
  absl::string_view name() const;
  // Operands; empty for constants and symbols.
  absl::Span<const SymInt> args() const;
  // Of a product or sum.
  int64_t coefficient() const;

  // Structural, so equal in every process.
  uint64_t hash() const;
  std::string ToString() const;

  friend bool operator==(SymInt a, SymInt b) { return a.rep_ == b.rep_; }
  friend bool operator!=(SymInt a, SymInt b) { return a.rep_ != b.rep_; }
  template <typename H>
  friend H AbslHashValue(H h, SymInt s) {
    return H::combine(std::move(h), s.hash());
  }

 private:
  friend class SymInterner;
  explicit SymInt(const SymNode* node) : rep_(reinterpret_cast<uintptr_t>(node)) {}
  const SymNode* node() const { return reinterpret_cast<const SymNode*>(rep_); }
  bool is_inline() const { return rep_ & 1; }

  uintptr_t rep_;  // Constant shifted left by one with bit 0 set, or a node.
};

SymInt operator+(SymInt a, SymInt b);
SymInt operator-(SymInt a, SymInt b);
SymInt operator*(SymInt a, SymInt b);
SymInt operator-(SymInt a);
// Rounds to minus infinity, as Python's // and %. A constant zero divisor gives
// Invalid(). Symbolic divisors are taken to be non-zero.
SymInt FloorDiv(SymInt a, SymInt b);
SymInt CeilDiv(SymInt a, SymInt b);
SymInt Mod(SymInt a, SymInt b);
SymInt Min(SymInt a, SymInt b);
SymInt Max(SymInt a, SymInt b);
// The size that NumPy broadcasting gives two sizes that are equal or of which
// one is 1. Two different constants, neither of them 1, give Invalid().
SymInt BroadcastSize(SymInt a, SymInt b);
// a*a*...*a; 0 to the power 0 is 1. A negative constant exponent gives
// Invalid(); symbolic exponents are taken to be 0 or more.
SymInt Pow(SymInt a, SymInt exponent);
SymInt Product(absl::Span<const SymInt> values);

// Conditions: 1 where they hold, 0 elsewhere.
SymInt GreaterEqual(SymInt a, SymInt b);
SymInt LessEqual(SymInt a, SymInt b);
SymInt Greater(SymInt a, SymInt b);
SymInt Less(SymInt a, SymInt b);
SymInt Equal(SymInt a, SymInt b);
SymInt NotEqual(SymInt a, SymInt b);
// Of conditions.
SymInt Not(SymInt condition);
SymInt And(SymInt a, SymInt b);
SymInt Or(SymInt a, SymInt b);
// `a` where the condition holds, else `b`, which then alone needs a value. What
// both have in common stands outside: select(c, 2*s0 + 3, s1 + 1) is
// select(c, 2*s0 + 2, s1) + 1.
SymInt Select(SymInt condition, SymInt a, SymInt b);
// True when the form shows that `s` is 0 or 1 for every assignment: a sum of
// products of at most six comparisons that is, whichever of them hold.
bool IsTruth(SymInt s);

// True when ToString() writes the symbol's name as it is: letters, digits, `_`
// and `.`, no digit or `.` first, and no word of the text form. Other names
// stand in quotes.
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

// "[s0, 4, 2*s0 + 1]"
std::string ToString(absl::Span<const SymInt> values);
inline std::ostream& operator<<(std::ostream& os, SymInt s) { return os << s.ToString(); }

// The constants in `values`, or nullopt when one is symbolic.
std::optional<std::vector<int64_t>> AllConstant(absl::Span<const SymInt> values);
std::vector<SymInt> ToSymInts(absl::Span<const int64_t> values);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_H_
