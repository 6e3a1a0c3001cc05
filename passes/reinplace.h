// The inverse of functionalize, and the last pass: values are written in place where possible.
#ifndef WEFT_PASSES_REINPLACE_H_
#define WEFT_PASSES_REINPLACE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct ReinplaceOptions {
  // Also write results of pointwise ops over an operand that is not read later: copy_(x, add(x,
  // y)). Useful for a backend that makes one kernel of both.
  bool pointwise = false;
};

// On entry the module is pure. Three kinds of nodes are replaced by writes, into the memory of a
// value that is not read afterwards, neither itself nor through a view:
//
//   slice_scatter(base, src) and the scatters of other views: a copy_ into a view of base, which
//     replaces the result from there on
//   scatter, scatter_nd: scatter_, scatter_nd_
//   a write-back of an input: a copy_ to it, or nothing if the value is in the input's memory
//     already
//
// Memory that may be written is that of a node's result, or of an input that the program writes
// back. A value in the memory of an input never becomes an output, so that no output newly shares
// memory with an input.
//
// Updates that stay have a remark with the reason. Counters: possible, done, missed and
// missed_bytes (copies of a base that stay, by the sizes or their hints), write_backs (that became
// writes).
std::unique_ptr<Pass> CreateReinplacePass(const ReinplaceOptions& options);
std::unique_ptr<Pass> CreateReinplacePass();

}  // namespace weft

#endif  // WEFT_PASSES_REINPLACE_H_
