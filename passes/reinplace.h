// The inverse of functionalize, and the last pass: what may be written is
// written.
#ifndef WEFT_PASSES_REINPLACE_H_
#define WEFT_PASSES_REINPLACE_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct ReinplaceOptions {
  // Also write results of pointwise ops over an operand that is not read any
  // more: copy_(x, add(x, y)). Of use to who makes one kernel of the two.
  bool pointwise = false;
};

// On entry the module is pure. Three things become writes, in the memory of a
// value that nothing reads afterwards, neither itself nor a view of it:
//
//   slice_scatter(base, src) and the scatters of other views: a copy_ into a
//     view of base, which stands for the result from there on
//   scatter, scatter_nd: scatter_, scatter_nd_
//   a write-back of an input: a copy_ to it, or nothing when the value is in
//   the
//     input's memory already
//
// Memory that may be written is that of a node's result, or of an input that
// the program writes back. Values that lie in the memory of an input do not
// become outputs, so that no output shares memory with an input that did not
// before.
//
// What stays as it is has a remark that says why. Counters: possible, done,
// missed and missed_bytes (copies of a base that stay, by the sizes or their
// hints), write_backs (that became writes).
std::unique_ptr<Pass> CreateReinplacePass(const ReinplaceOptions& options);
std::unique_ptr<Pass> CreateReinplacePass();

}  // namespace weft

#endif  // WEFT_PASSES_REINPLACE_H_
