// The `where` clause: facts about symbols.
//
//   where 1 <= s0 <= 4096, s0 % 8 == 0, hint(s0) = 32, unbacked u0, -inf <= u0,
//         s1 == 2*s0 + 1, s0 + u0 <= 64
//
// Without a fact a symbol is backed and of the range [0, inf).
#ifndef WEFT_GRAPH_TEXT_PARTS_TEXT_FACTS_H_
#define WEFT_GRAPH_TEXT_PARTS_TEXT_FACTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/parts/text_reader.h"

namespace weft::text {

// The facts that differ from the defaults; "" if there are none.
std::string FactsToString(const SymbolTable& table, absl::Span<const SymInt> symbols);

// The conditions that are not facts about one symbol, whose symbols are all admitted, and that are
// not in `printed`, to which they are added.
std::string ConditionsToString(const SymbolTable& table, absl::FunctionRef<bool(SymInt)> admits,
                               absl::flat_hash_set<SymInt>* printed);

// The facts of a text. Whether they are refused does not depend on their order: refused are facts
// that leave no value for a symbol, and conditions that the ranges and divisors of their symbols
// rule out. Conditions that rule out each other stay; a run checks them, and fails.
class StatedFacts {
 public:
  // Reads facts separated by commas, and declares them in the table too.
  bool Parse(TextReader* reader, SymbolTable* table);

  // Add a fact about one symbol, and a condition, that stand at `position`. False after an error.
  bool Declare(TextReader* reader, const SymbolInfo& info, size_t position);
  bool Add(TextReader* reader, SymInt condition, size_t position);
  // Refuse a condition, and any of those added, that the facts so far rule out.
  bool Check(TextReader* reader, SymInt condition, size_t position) const;
  bool CheckAll(TextReader* reader) const;

 private:
  struct Stated {
    SymInt condition;
    size_t position;
  };
  SymbolTable symbols_;  // What the facts say about each symbol by itself.
  std::vector<Stated> conditions_;
};

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_PARTS_TEXT_FACTS_H_
