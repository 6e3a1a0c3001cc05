// Replaces chosen symbols by numbers or other sizes.
#ifndef WEFT_PASSES_SIZES_SPECIALIZE_H_
#define WEFT_PASSES_SIZES_SPECIALIZE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"

namespace weft {

class Module;

struct SymbolValue {
  SymInt symbol;
  // A number, or an expression of other symbols of inputs: another symbol makes the two equal.
  SymInt value;
};

// Writes the values into all types and attributes. Facts about a replaced symbol (range, divisor,
// conditions) become facts about its value; symbols that have only one possible value then are
// replaced as well. Replaced symbols leave the symbol table. A new name as the value renames a
// symbol.
//
// Errors (InvalidArgument) name the symbol and the fact: a value that its facts exclude, a
// data-dependent symbol, a cycle of values; the module is unchanged. Only if an op does not support
// the new sizes, the module is invalid after the error: specialize a clone.
absl::Status SpecializeSymbols(Module& module, absl::Span<const SymbolValue> values);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_SPECIALIZE_H_
