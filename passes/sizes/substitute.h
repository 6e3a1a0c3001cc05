// Replaces symbols in a whole module; shared by the passes that find values of symbols.
#ifndef WEFT_PASSES_SIZES_SUBSTITUTE_H_
#define WEFT_PASSES_SIZES_SUBSTITUTE_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "graph/tensor/type.h"

namespace weft {

class Module;

// True when the type mentions a symbol.
bool IsSymbolic(Type type);

// Writes `replacement` of each symbol (nullopt keeps it) into the types and attributes of all
// graphs, inner ones before outer ones, and updates the edges to the definitions of unbacked
// symbols. The facts about symbols are unchanged.
void SubstituteSymbols(Module& module,
                       absl::FunctionRef<std::optional<SymInt>(SymInt)> replacement);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_SUBSTITUTE_H_
