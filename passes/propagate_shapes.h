// Works out sizes: what integer tensors hold, and what follows for types.
#ifndef WEFT_PASSES_PROPAGATE_SHAPES_H_
#define WEFT_PASSES_PROPAGATE_SHAPES_H_

#include <memory>

#include "passes/pass.h"

namespace weft {

// Integer tensors whose elements are known as symbolic integers become
// sym_constant or constant where something else than such arithmetic uses them.
// A node that defines an unbacked symbol whose value is known gives it up: the
// symbol is replaced in all types and attributes of the module. `range` of known
// bounds becomes arange; data-dependent ops on small constants are evaluated.
// Types are inferred anew from the refined ones. No type gets less precise.
// Counters: substituted, known, refined.
std::unique_ptr<Pass> CreatePropagateShapesPass();

}  // namespace weft

#endif  // WEFT_PASSES_PROPAGATE_SHAPES_H_
