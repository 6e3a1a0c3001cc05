#include "passes/canonicalize.h"

#include <vector>

#include "passes/canonicalize/rules.h"
#include "passes/engine/rewrite/driver.h"
#include "passes/engine/rules/rule_set.h"

namespace weft {
namespace {

class CanonicalizePass : public Pass {
 public:
  absl::string_view name() const override { return "canonicalize"; }
  absl::string_view doc() const override {
    return "Rewrite rules that bring graphs to one form, and make them smaller.";
  }
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  absl::Status Run(Module& module, PassContext& context) override {
    const auto own = CanonicalizeRules();
    std::vector<absl::Span<const Rule>> themes(own.begin(), own.end());
    if (const RuleSet* rules = context.options().rules) {
      themes.push_back(rules->rules());
    }
    return ApplyRules(module, context, themes);
  }
};

}  // namespace

absl::Span<const absl::Span<const Rule>> CanonicalizeRules() {
  using namespace canonicalize;  // NOLINT
  static const auto& themes = *new std::vector<absl::Span<const Rule>>{
      ArithmeticRules(), PowerRules(),    ExtremaRules(),   LogicRules(),   BroadcastRules(),
      ReshapeRules(),    PermuteRules(),  SliceRules(),     CatRules(),     PadRules(),
      ConvertRules(),    QuantizeRules(), ReductionRules(), SoftmaxRules(), IndexRules(),
      MovementRules(),   ProductRules(),  AttributeRules(),
  };
  return themes;
}

std::unique_ptr<Pass> CreateCanonicalizePass() { return std::make_unique<CanonicalizePass>(); }

}  // namespace weft
