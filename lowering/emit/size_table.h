// The sizes that are arguments of emitted code.
#ifndef WEFT_LOWERING_EMIT_SIZE_TABLE_H_
#define WEFT_LOWERING_EMIT_SIZE_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/sym/sym_int.h"

namespace weft::emit {

// Numbers the expressions that the code mentions, in the order of first use.
class SizeTable {
 public:
  // The text of the expression: a literal, or `z` and its number.
  std::string Text(SymInt s);
  std::vector<SymInt> Take() { return std::move(sizes_); }

 private:
  std::vector<SymInt> sizes_;
  absl::flat_hash_map<SymInt, int> index_;
};

}  // namespace weft::emit

#endif  // WEFT_LOWERING_EMIT_SIZE_TABLE_H_
