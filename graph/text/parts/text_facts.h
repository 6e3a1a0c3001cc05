// The `where` clause: facts about symbols.
//
//   where 1 <= s0 <= 4096, s0 % 8 == 0, hint(s0) = 32, unbacked u0, -inf <= u0,
//         s1 == 2*s0 + 1, s0 + u0 <= 64
//
// Without a fact a symbol is backed and of the range [0, inf).
#ifndef WEFT_GRAPH_TEXT_PARTS_TEXT_FACTS_H_
#define WEFT_GRAPH_TEXT_PARTS_TEXT_FACTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/text/parts/text_reader.h"

namespace weft {
class SymbolTable;
}  // namespace weft

namespace weft::text {

// The facts that differ from the defaults; "" if there are none.
std::string FactsToString(const SymbolTable& table, absl::Span<const SymInt> symbols);

// The conditions that are not facts about one symbol, whose symbols are all admitted, and that are
// not in `printed`, to which they are added.
std::string ConditionsToString(const SymbolTable& table, absl::FunctionRef<bool(SymInt)> admits,
                               absl::flat_hash_set<SymInt>* printed);

// Reads facts separated by commas, and declares them.
bool ParseFacts(TextReader* reader, SymbolTable* table);

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_PARTS_TEXT_FACTS_H_
