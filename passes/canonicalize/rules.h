// The themes of canonicalize: each is a table of rules in a file of that name.
//
// The rules go downhill together. Each one lowers, in this order of weight: the
// elements that are computed or moved, the number of nodes, the cost of an op
// (a division costs more than a product, a subtraction of a constant more than
// an addition), or it brings the graph to its canonical form: slices as early,
// permutes and reshapes as late as they go, attributes in one spelling.
#ifndef WEFT_PASSES_CANONICALIZE_RULES_H_
#define WEFT_PASSES_CANONICALIZE_RULES_H_

#include "absl/types/span.h"
#include "passes/engine/rewrite/rule.h"

namespace weft::canonicalize {

absl::Span<const Rule> ArithmeticRules();
absl::Span<const Rule> PowerRules();
absl::Span<const Rule> ExtremaRules();
absl::Span<const Rule> LogicRules();
absl::Span<const Rule> BroadcastRules();
absl::Span<const Rule> ReshapeRules();
absl::Span<const Rule> PermuteRules();
absl::Span<const Rule> SliceRules();
absl::Span<const Rule> CatRules();
absl::Span<const Rule> PadRules();
absl::Span<const Rule> ConvertRules();
absl::Span<const Rule> ReductionRules();
absl::Span<const Rule> SoftmaxRules();
absl::Span<const Rule> IndexRules();
absl::Span<const Rule> MovementRules();
absl::Span<const Rule> ProductRules();
absl::Span<const Rule> AttributeRules();

}  // namespace weft::canonicalize

#endif  // WEFT_PASSES_CANONICALIZE_RULES_H_
