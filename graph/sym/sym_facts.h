// Facts about symbols, and a bounded prover over them.
#ifndef WEFT_GRAPH_SYM_SYM_FACTS_H_
#define WEFT_GRAPH_SYM_SYM_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_prove.h"
#include "graph/sym/sym_range.h"

namespace weft {

struct SymbolInfo {
  SymInt symbol;
  // Sizes are never negative; an unbacked integer may be.
  SymRange range = {0, SymRange::kMax};
  // The symbol is a multiple of this.
  int64_t divisor = 1;
  // Example value of a backed symbol (PyTorch's word).
  std::optional<int64_t> hint;
  // The symbol is defined by a node from data, not by the shape of an input.
  bool unbacked = false;
};

// A condition (sym_ops.h) that was assumed, and its origin: the name of an op, an input or a file.
struct SymCondition {
  SymInt condition;
  std::string origin;
  // The condition bounds one symbol or gives a divisor of it, so SymbolInfo has it too.
  bool is_range = false;
};

// The symbols of a module in the order of their declaration.
class SymbolTable {
 public:
  // Declares `info.symbol`, or narrows what is known about it.
  void Declare(const SymbolInfo& info);
  // Declares a symbol whose name is free: `prefix` and the smallest free number.
  SymInt Fresh(absl::string_view prefix, const SymbolInfo& info = {});
  // Forgets symbols that no graph mentions any more.
  void Remove(absl::Span<const SymInt> symbols);
  // Grows whenever a fact is added or removed.
  uint64_t version() const { return version_; }
  const SymbolInfo* Find(SymInt symbol) const;
  bool IsUnbacked(SymInt symbol) const;
  absl::Span<const SymbolInfo> symbols() const { return symbols_; }
  // The symbol's index in symbols(), or -1.
  int64_t IndexOf(SymInt symbol) const;

  // Takes a condition for true; the caller makes sure that it is checked, against the inputs (a
  // guard) or against data at run time. Returns what was known before: yes, and nothing is added;
  // no, and nothing is added; unknown, and the condition is added.
  Proof Assume(SymInt condition, absl::string_view origin = "");
  // Adds a condition of another table's conditions() without proving or refuting it. `condition`
  // must be a truth value (IsTruth).
  void Restore(SymInt condition, absl::string_view origin);
  // The conditions that Assume added, in that order.
  absl::Span<const SymCondition> conditions() const { return conditions_; }
  // Indices in conditions() of those that mention the symbol.
  absl::Span<const int> ConditionsAbout(SymInt symbol) const;

  // Interval that contains every value of `s`, from the ranges of its symbols.
  // Undeclared symbols are sizes.
  SymRange RangeOf(SymInt s) const;
  // True if `s` is a multiple of `divisor` for every assignment.
  bool IsMultipleOf(SymInt s, int64_t divisor) const;

  // Proofs take a bounded number of steps and are remembered. Thread-safe
  // against each other.
  Proof Prove(SymInt condition) const;
  Proof ProveEq(SymInt a, SymInt b) const;
  Proof ProveLe(SymInt a, SymInt b) const;
  Proof ProveLt(SymInt a, SymInt b) const { return ProveLe(a + 1, b); }

  // An expression that is equal under the facts, with symbols replaced by what they equal, and with
  // divisions, extrema and comparisons that the ranges decide evaluated.
  SymInt Simplify(SymInt s) const;

 private:
  bool AssumeParts(SymInt condition, absl::string_view origin);
  void AddCondition(SymCondition condition);
  bool DeclareRange(SymInt condition);
  void Learn(SymInt condition) { knowledge_.Learn(Simplify(condition), *this); }
  void LearnReplaced(const SymbolInfo& info);

  std::vector<SymbolInfo> symbols_;
  uint64_t proofs_version_ = 0;  // Grows when an unknown proof may become decided.
  std::vector<SymCondition> conditions_;
  absl::flat_hash_map<SymInt, std::vector<int>> conditions_of_;
  internal::SymKnowledge knowledge_;
  internal::ProofMemo memo_;
  uint64_t version_ = 0;
  absl::flat_hash_map<SymInt, int> index_;
  absl::flat_hash_map<std::string, int64_t> next_;  // Next number by prefix, for Fresh.
};

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_FACTS_H_
