// A view op of one's own, for docs/adding-an-op.md and its test.
#ifndef WEFT_EXAMPLES_EVERY_H_
#define WEFT_EXAMPLES_EVERY_H_

#include "graph/ir/op_def.h"

namespace weft::examples {

// every(self, dim, n): the elements 0, n, 2n, ... of a dim.
extern const OpDef every;

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_EVERY_H_
