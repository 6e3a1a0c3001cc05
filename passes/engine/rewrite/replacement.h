// Builds the right side of a rule.
#ifndef WEFT_PASSES_ENGINE_REWRITE_REPLACEMENT_H_
#define WEFT_PASSES_ENGINE_REWRITE_REPLACEMENT_H_

#include "passes/engine/rewrite/rewriter.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class Value;

// The value that takes the place of the root's result. A pattern is built from
// its leaves: variables are what they are bound to, Splat(n) is a scalar of the
// root's dtype, ops have no attributes. Null, or an error in the rewriter, when
// that is not possible.
Value* BuildReplacement(const Match& m, Rewriter& rewriter);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_REPLACEMENT_H_
