// What is known about symbols, and a bounded prover over it.
#ifndef WEFT_GRAPH_CORE_SYM_FACTS_H_
#define WEFT_GRAPH_CORE_SYM_FACTS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/core/sym.h"

namespace weft {

// A closed interval; the int64 limits stand for "unbounded".
struct SymRange {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t min = kMin;
  int64_t max = kMax;
  friend bool operator==(SymRange a, SymRange b) {
    return a.min == b.min && a.max == b.max;
  }
};

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

enum class Proof { kNo, kYes, kUnknown };

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

  // Interval that contains every value of `s`. Undeclared symbols are sizes.
  SymRange RangeOf(SymInt s) const;
  // True when `s` is a multiple of `divisor` for every assignment.
  bool IsMultipleOf(SymInt s, int64_t divisor) const;

  Proof ProveEq(SymInt a, SymInt b) const;
  Proof ProveLe(SymInt a, SymInt b) const;
  Proof ProveLt(SymInt a, SymInt b) const { return ProveLe(a + 1, b); }

 private:
  std::vector<SymbolInfo> symbols_;
  uint64_t version_ = 0;
  absl::flat_hash_map<SymInt, int> index_;
  absl::flat_hash_map<std::string, int64_t> next_;  // By prefix, for Fresh.
};

}  // namespace weft

#endif  // WEFT_GRAPH_CORE_SYM_FACTS_H_
