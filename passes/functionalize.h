// Makes graphs pure: no op writes, and no view differs from a copy.
#ifndef WEFT_PASSES_FUNCTIONALIZE_H_
#define WEFT_PASSES_FUNCTIONALIZE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// On exit no graph of the module writes (Module::HasWrites). A graph is unchanged if neither it nor
// its nested graphs write.
//
// A write is replaced by the value that it writes, by the op's functional twin, and a read gets the
// newest value. Views are made again from their base if a write through another alias came between.
// A write through a view becomes a new value of its base by the view's inverse
// (OpSpec::InvertView). Outputs that share memory, with an input or with each other, become equal
// values; a caller that wants aliases must make them.
//
// Inputs that are written are listed in Graph::write_backs; their new values are the last outputs.
// Nested graphs may write the memory that they capture: operands of `cond` and captured ones of
// `loop` and `scan`. The new values become results of the node, carried ones for loops. An error
// names the write if it has no functional form: through a view that shows elements twice (eager
// PyTorch refuses it as well), to a carried value or a slice, which are not the same memory in each
// run, or to one of two operands of control flow that share memory.
//
// Inputs are assumed not to share memory; sessions refuse those that do.
//
// Linear in the nodes before and after. If a write has come between, a read costs as many view
// nodes as its chain of views has.
//
// Counters: writes (removed), replayed (views made again), inverted (inverses of views),
// write_backs, returned (operands of control flow that its nested graphs wrote).
std::unique_ptr<Pass> CreateFunctionalizePass();

}  // namespace weft

#endif  // WEFT_PASSES_FUNCTIONALIZE_H_
