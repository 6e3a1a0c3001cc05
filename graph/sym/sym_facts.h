// What is known about symbols, and a bounded prover over it.
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
  // Defined by a node, from data; not by an input's shape.
  bool unbacked = false;
};

// A condition (sym_ops.h) that was assumed, and who did it: the name of an op, an
// input, a file.
struct SymCondition {
  SymInt condition;
  std::string origin;
  // It bounds one symbol, or says what divides it: SymbolInfo has it too.
  bool is_range = false;
};

// The symbols of a module in the order of their declaration.
class SymbolTable {
 public:
  // Declares `info.symbol`, or narrows what is known about it.
  void Declare(const SymbolInfo& info);
  // A symbol with a name not yet taken: `prefix` and the smallest free number.
  SymInt Fresh(absl::string_view prefix, const SymbolInfo& info = {});
  // For symbols that nothing mentions any more.
  void Remove(absl::Span<const SymInt> symbols);
  // Grows whenever something else is known.
  uint64_t version() const { return version_; }
  const SymbolInfo* Find(SymInt symbol) const;
  bool IsUnbacked(SymInt symbol) const;
  absl::Span<const SymbolInfo> symbols() const { return symbols_; }
  // Place in symbols(), or -1.
  int64_t IndexOf(SymInt symbol) const;

  // Takes over that a condition holds, which someone has to see to: inputs are
  // checked against it (a guard), or data at run time. Answers what was known
  // before: yes, then it adds nothing; no, then it is not taken over; unknown.
  Proof Assume(SymInt condition, absl::string_view origin = "");
  // Adds a condition as another table had it (conditions()), without asking whether it follows from
  // what is known or contradicts it. `condition` is one (IsTruth).
  void Restore(SymInt condition, absl::string_view origin);
  // What was taken over and added something, in that order.
  absl::Span<const SymCondition> conditions() const { return conditions_; }
  // Those that mention the symbol, as places in conditions().
  absl::Span<const int> ConditionsAbout(SymInt symbol) const;

  // Interval that contains every value of `s`, from the ranges of its symbols.
  // Undeclared symbols are sizes.
  SymRange RangeOf(SymInt s) const;
  // True when `s` is a multiple of `divisor` for every assignment.
  bool IsMultipleOf(SymInt s, int64_t divisor) const;

  // Proofs take a bounded number of steps and are remembered. Thread-safe
  // against each other.
  Proof Prove(SymInt condition) const;
  Proof ProveEq(SymInt a, SymInt b) const;
  Proof ProveLe(SymInt a, SymInt b) const;
  Proof ProveLt(SymInt a, SymInt b) const { return ProveLe(a + 1, b); }

  // An expression of equal value under the facts: equalities are put in, and
  // divisions, extrema and comparisons that the ranges decide are gone.
  SymInt Simplify(SymInt s) const;

 private:
  bool AssumeParts(SymInt condition, absl::string_view origin);
  void AddCondition(SymCondition condition);
  bool DeclareRange(SymInt condition);
  void Learn(SymInt condition) { knowledge_.Learn(Simplify(condition), *this); }
  void LearnReplaced(const SymbolInfo& info);

  std::vector<SymbolInfo> symbols_;
  uint64_t proofs_version_ = 0;  // Grows when an unknown may become known.
  std::vector<SymCondition> conditions_;
  absl::flat_hash_map<SymInt, std::vector<int>> conditions_of_;
  internal::SymKnowledge knowledge_;
  internal::ProofMemo memo_;
  uint64_t version_ = 0;
  absl::flat_hash_map<SymInt, int> index_;
  absl::flat_hash_map<std::string, int64_t> next_;  // By prefix, for Fresh.
};

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_FACTS_H_
