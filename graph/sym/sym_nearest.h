// The smallest change of values that meets what is known of symbols.
#ifndef WEFT_GRAPH_SYM_SYM_NEAREST_H_
#define WEFT_GRAPH_SYM_SYM_NEAREST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/sym/sym_int.h"

namespace weft {

class SymbolTable;

using SymbolValues = absl::flat_hash_map<SymInt, int64_t>;

struct SymbolEdit {
  SymInt symbol;
  int64_t from = 0;
  int64_t to = 0;
};

// Edits after which each symbol with a value lies in its range, is a multiple of
// its divisor, and meets every condition whose symbols all have values: of one
// symbol where that is enough, else of two; the smallest distance, upwards
// before downwards. Empty when nothing has to change. Nothing when none is
// found within a bounded number of steps; sizes that depend on data stay as
// they are.
std::optional<std::vector<SymbolEdit>> NearestAllowed(const SymbolTable& facts,
                                                      const SymbolValues& values);

// "s0 = 8", "s0 = 8, s1 = 16".
std::string ToString(const std::vector<SymbolEdit>& edits);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_NEAREST_H_
