// Computes sizes: the contents of integer tensors, and their effect on types.
#ifndef WEFT_PASSES_PROPAGATE_SHAPES_H_
#define WEFT_PASSES_PROPAGATE_SHAPES_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct PropagateShapesOptions {
  bool guards = false;
};

// An integer tensor whose elements are known as symbolic integers becomes sym_constant or constant
// if anything but such arithmetic uses it. If the value of an unbacked symbol is known, it replaces
// the symbol in all types and attributes of the module. `range` with known bounds becomes arange;
// data-dependent ops on small constants are evaluated. Types are inferred again from the refined
// ones, and sizes are written as the simplest expressions that the facts prove equal: numbers, or
// expressions without data-dependent sizes, without broadcasting and without selections. No type
// becomes less precise.
//
// With `guards`, assumptions of ops of `main` on sizes that are not proven become conditions of the
// module, with the op as their origin: guards on the sizes of inputs, or runtime asserts on data.
// Executors check them first, so later code may rely on them. If the facts refute an assumption,
// InvalidArgument names the op. Counters: substituted, known, refined, guards, asserts.
std::unique_ptr<Pass> CreatePropagateShapesPass(const PropagateShapesOptions& options);
std::unique_ptr<Pass> CreatePropagateShapesPass();

}  // namespace weft

#endif  // WEFT_PASSES_PROPAGATE_SHAPES_H_
