// Sources of the values of symbols, and messages about conditions that these values break.
//
// Functions and const methods may be called by several threads at once.
#ifndef WEFT_GRAPH_SYM_SYM_SOURCES_H_
#define WEFT_GRAPH_SYM_SYM_SOURCES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_nearest.h"

namespace weft {

class SymbolTable;

// The inputs and nodes that define symbols, for messages.
class SymbolSources {
 public:
  // `size` is a dim of the input, or the value of the input if `dim` is -1. The source of a symbol
  // is the first input with the bare symbol as a size, else the first input that mentions it.
  void AddInput(absl::string_view name, int dim, SymInt size);
  // Records the node that defines the symbol, unless a source is known.
  void AddOrigin(SymInt symbol, std::string origin);

  bool Has(SymInt symbol) const { return sources_.contains(symbol); }
  // "input %x dim 1", "input %x dim 1, which is 2*s0", "item, from \"fc\""; "unknown".
  std::string Describe(SymInt symbol) const;

 private:
  struct Source {
    std::string text;
    SymInt size;  // The size or integer that mentions the symbol.
  };
  absl::flat_hash_map<SymInt, Source> sources_;
};

// "reshape, from \"fc/reshape\"": an op by its name, and the first of the source nodes' names.
std::string OriginText(absl::string_view op, const std::vector<std::string>& names);

// "s0 % 8 == 0 does not hold for s0 = 7 (input %x dim 1); it comes from
// reshape; nearest allowed: s0 = 8". `sources` may be null.
std::string DescribeViolation(const SymbolTable& facts, SymInt condition, absl::string_view origin,
                              const SymbolValues& values, const SymbolSources* sources);

}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_SOURCES_H_
