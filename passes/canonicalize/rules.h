// The themes of canonicalize: tables of rules, each in the file of that name.
//
// Each rule decreases one measure, compared in this order: the elements that are computed or moved,
// the number of nodes, the cost of an op (a division costs more than a multiplication, a
// subtraction of a constant more than an addition), the distance from the canonical form: slices as
// early, permutes and reshapes as late as possible, and one notation for attributes.
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
absl::Span<const Rule> QuantizeRules();
absl::Span<const Rule> ReductionRules();
absl::Span<const Rule> SoftmaxRules();
absl::Span<const Rule> IndexRules();
absl::Span<const Rule> MovementRules();
absl::Span<const Rule> ProductRules();
absl::Span<const Rule> AttributeRules();

}  // namespace weft::canonicalize

#endif  // WEFT_PASSES_CANONICALIZE_RULES_H_
