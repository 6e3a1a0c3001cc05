// Intervals of symbolic expressions.
#ifndef WEFT_GRAPH_SYM_SYM_RANGE_H_
#define WEFT_GRAPH_SYM_SYM_RANGE_H_

#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "graph/sym/sym_int.h"

namespace weft {

// A closed interval; the int64 limits stand for "unbounded".
struct SymRange {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t min = kMin;
  int64_t max = kMax;
  friend bool operator==(SymRange a, SymRange b) { return a.min == b.min && a.max == b.max; }
};

// The numbers that lie in both.
SymRange Intersect(SymRange a, SymRange b);

// An interval that contains every value of `s`, given those of its symbols.
SymRange RangeOf(SymInt s, absl::FunctionRef<SymRange(SymInt)> range_of_symbol);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_RANGE_H_
