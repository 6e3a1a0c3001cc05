// Builds the right side of a rule.
#ifndef WEFT_PASSES_ENGINE_REWRITE_REPLACEMENT_H_
#define WEFT_PASSES_ENGINE_REWRITE_REPLACEMENT_H_

#include "passes/engine/rewrite/rewriter.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class Value;

// The value that replaces the root's result. A pattern is built from its leaves: variables are the
// bound values, Splat(n) is a scalar of the root's dtype, ops have no attributes. On failure
// returns null, or sets an error in the rewriter.
Value* BuildReplacement(const Match& m, Rewriter& rewriter);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_REPLACEMENT_H_
