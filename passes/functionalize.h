// Makes graphs pure: no op that writes, no view that anything tells from a
// copy.
#ifndef WEFT_PASSES_FUNCTIONALIZE_H_
#define WEFT_PASSES_FUNCTIONALIZE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// On exit no graph of the module writes (Module::HasWrites). A graph without
// writes, its own or nested ones, stays as it is.
//
// A write becomes the value that it writes, by the op's functional twin; a read
// gets the newest value of what it reads: views are made again from their base
// where a write through another alias came between, and a write through a view
// becomes a new value of its base by the view's inverse (OpSpec::InvertView).
// Outputs that share memory, with an input or with each other, are equal values
// afterwards; who hands them out as aliases does so by himself.
//
// Inputs that are written are listed in Graph::write_backs; their new values
// are the last outputs. Nested graphs may write the memory that they capture,
// operands of `cond` and captured ones of `loop` and `scan`: the new values
// become results of the node, carried ones of loops. An error names the write
// when it has no functional form: through a view that shows elements twice (eager
// PyTorch refuses it as well), to a carried value or a slice, which are not the
// same memory at each run, or to one of two operands of control flow that share
// memory.
//
// Inputs are taken to lie apart in memory; sessions refuse others.
//
// The work is linear in the nodes before and after. A read costs as many view
// nodes as its chain of views has, when a write has come between.
//
// Counters: writes (removed), replayed (views made again), inverted (inverses
// of views made), write_backs, returned (operands of control flow that its
// nested graphs wrote).
std::unique_ptr<Pass> CreateFunctionalizePass();

}  // namespace weft

#endif  // WEFT_PASSES_FUNCTIONALIZE_H_
