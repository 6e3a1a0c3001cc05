// Rewrite rules that bring graphs to canonical form and reduce them.
#ifndef WEFT_PASSES_CANONICALIZE_H_
#define WEFT_PASSES_CANONICALIZE_H_

#include <memory>

#include "absl/types/span.h"
#include "passes/engine/pass.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

// Applies the themes of passes/canonicalize/ and the folds of the ops to their fixpoint, then those
// of PassContext::Options::rules. Admits what the context admits; by default bit-exact and
// value-safe rules. Counters: rewrites, rule.<name>, fold.<op>.
std::unique_ptr<Pass> CreateCanonicalizePass();

// All rules, theme by theme, in the order in which they are tried.
absl::Span<const absl::Span<const Rule>> CanonicalizeRules();

}  // namespace weft

#endif  // WEFT_PASSES_CANONICALIZE_H_
