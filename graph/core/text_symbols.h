// The `where` clause: facts about symbols.
//
//   where 1 <= s0 <= 4096, s0 % 8 == 0, hint(s0) = 32, unbacked u0, -inf <= u0
//
// Without a fact a symbol is backed and of the range [0, inf).
#ifndef WEFT_GRAPH_CORE_TEXT_SYMBOLS_H_
#define WEFT_GRAPH_CORE_TEXT_SYMBOLS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/core/graph.h"
#include "graph/core/sym_facts.h"
#include "graph/core/text_reader.h"

namespace weft::text {

// The symbols in the types and attributes of the graph and of those nested in
// it, in their structural order.
std::vector<SymInt> SymbolsOf(const Graph& graph);

// What the table knows beyond the defaults; empty when that is nothing.
std::string FactsToString(const SymbolTable& table,
                          absl::Span<const SymInt> symbols);

// Reads facts up to something that is no comma, and declares them.
bool ParseFacts(TextReader* reader, SymbolTable* table);

}  // namespace weft::text

#endif  // WEFT_GRAPH_CORE_TEXT_SYMBOLS_H_
