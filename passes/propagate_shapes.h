// Works out sizes: what integer tensors hold, and what follows for types.
#ifndef WEFT_PASSES_PROPAGATE_SHAPES_H_
#define WEFT_PASSES_PROPAGATE_SHAPES_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct PropagateShapesOptions {
  bool guards = false;
};

// Integer tensors whose elements are known as symbolic integers become
// sym_constant or constant where something else than such arithmetic uses them.
// A node that defines an unbacked symbol whose value is known gives it up: the
// symbol is replaced in all types and attributes of the module. `range` of known
// bounds becomes arange; data-dependent ops on small constants are evaluated.
// Types are inferred anew from the refined ones, and sizes are written as what
// the facts prove equal: numbers, or expressions without sizes that depend on
// data, without broadcasting and without choices. No type gets less precise.
//
// With `guards`, what ops of `main` assume about sizes and nothing proves becomes a
// condition of the module, with the op as its origin: a guard on the sizes of
// inputs, or a run-time assert where data decides. Executors check it before,
// and everything else may build on it. A need that the facts rule out is an
// InvalidArgument that names the op.
// Counters: substituted, known, refined, guards, asserts.
std::unique_ptr<Pass> CreatePropagateShapesPass(const PropagateShapesOptions& options);
std::unique_ptr<Pass> CreatePropagateShapesPass();

}  // namespace weft

#endif  // WEFT_PASSES_PROPAGATE_SHAPES_H_
