// Symbols replaced in a whole module; shared by the passes that learn what a
// symbol is.
#ifndef WEFT_PASSES_SIZES_SUBSTITUTE_H_
#define WEFT_PASSES_SIZES_SUBSTITUTE_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "graph/tensor/type.h"

namespace weft {

class Module;

// True when the type mentions a symbol.
bool IsSymbolic(Type type);

// Writes `replacement` of each symbol (nullopt keeps it) into the types and
// attributes of all graphs, inner ones before outer ones, and brings the edges
// to the definitions of unbacked symbols up to date. The facts about symbols
// stay as they are.
void SubstituteSymbols(Module& module,
                       absl::FunctionRef<std::optional<SymInt>(SymInt)> replacement);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_SUBSTITUTE_H_
