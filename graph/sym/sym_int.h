// Symbolic integer expressions: the dims of every tensor type and the sizes in
// attributes.
//
// A SymInt is a value of 8 bytes. Small constants are stored inline; everything
// else is a hash-consed node, so equal canonical forms compare equal by
// identity. Expressions do not limit the values of a symbol: ranges,
// divisibility and hints are facts of a SymbolTable (sym_facts.h). Sums and
// products are made here, all other expressions in sym_ops.h; sym_expr.h looks
// into them.
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
#ifndef WEFT_GRAPH_SYM_SYM_INT_H_
#define WEFT_GRAPH_SYM_SYM_INT_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

struct SymNode;

class SymInt {
 public:
  // The kinds of expressions are listed in sym_expr.h.
  enum class Kind : uint8_t;
  static constexpr int kMaxTerms = 256;
  static constexpr int kMaxDepth = 48;

  constexpr SymInt() : rep_(1) {}
  SymInt(int64_t value);                                      // NOLINT: constants are dims.
  SymInt(int value) : SymInt(static_cast<int64_t>(value)) {}  // NOLINT

  // The symbol with that name; the same name gives the same symbol everywhere.
  static SymInt Symbol(absl::string_view name);
  static SymInt Invalid();

  Kind kind() const;
  bool is_constant() const;
  bool is_symbol() const;
  bool is_valid() const;
  std::optional<int64_t> constant() const;
  // Requires is_constant().
  int64_t value() const;
  bool Is(int64_t value) const { return *this == SymInt(value); }

  // Requires is_symbol().
  absl::string_view name() const;
  // Operands; empty for constants and symbols.
  absl::Span<const SymInt> args() const;
  // The coefficient of a product or sum.
  int64_t coefficient() const;

  // A structural hash, so equal in every process.
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

// "[s0, 4, 2*s0 + 1]"
std::string ToString(absl::Span<const SymInt> values);
inline std::ostream& operator<<(std::ostream& os, SymInt s) { return os << s.ToString(); }

// The constants in `values`, or nullopt when one is symbolic.
std::optional<std::vector<int64_t>> AllConstant(absl::Span<const SymInt> values);
std::vector<SymInt> ToSymInts(absl::Span<const int64_t> values);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_INT_H_
