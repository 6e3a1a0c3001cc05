// Chosen symbols become numbers, or other sizes.
#ifndef WEFT_PASSES_SIZES_SPECIALIZE_H_
#define WEFT_PASSES_SIZES_SPECIALIZE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"

namespace weft {

class Module;

struct SymbolValue {
  SymInt symbol;
  // A number, or an expression over other symbols of inputs: another symbol
  // makes the two equal.
  SymInt value;
};

// Writes the values into all types and attributes. What was known of a replaced
// symbol (range, divisor, conditions) is known of its value afterwards; symbols
// that this leaves a single value are replaced as well. Replaced symbols leave
// the symbol table. A new name as the value renames a symbol.
//
// Errors (InvalidArgument) name the symbol and the fact: a value that its facts
// rule out, a symbol that depends on data, a circle of values; the module is as
// it was. The last error, an op that cannot do with the new sizes, leaves a
// module of no use: specialize a clone.
absl::Status SpecializeSymbols(Module& module, absl::Span<const SymbolValue> values);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_SPECIALIZE_H_
