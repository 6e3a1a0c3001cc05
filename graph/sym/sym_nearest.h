// Finds the smallest change of values that satisfies the facts about symbols.
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

// Edits after which each symbol that has a value lies in its range, is a multiple of its divisor,
// and satisfies every condition whose symbols all have values. One symbol changes if that is
// enough, else two; the distance is minimal, and increases are preferred. Empty if nothing has to
// change. Nullopt if a bounded number of steps finds no edits. Sizes that depend on data do not
// change.
std::optional<std::vector<SymbolEdit>> NearestAllowed(const SymbolTable& facts,
                                                      const SymbolValues& values);

// "s0 = 8", "s0 = 8, s1 = 16".
std::string ToString(const std::vector<SymbolEdit>& edits);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_NEAREST_H_
