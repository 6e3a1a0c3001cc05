#include "tests/faults/planted_rules.h"

#include <vector>

#include "passes/canonicalize.h"
#include "passes/engine/rewrite/driver.h"
#include "tests/faults/planted_tables.h"

namespace weft::faults {
namespace {

class PlantedPass : public Pass {
 public:
  absl::string_view name() const override { return "planted"; }
  absl::string_view doc() const override { return "canonicalize with a wrong rule."; }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("rule", &rule_, "Name of the rule.");
  }
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  absl::Status Run(Module& module, PassContext& context) override {
    std::vector<absl::Span<const Rule>> themes;
    for (const PlantedRule& planted : PlantedRules()) {
      if (planted.rule.name == rule_) themes.push_back({&planted.rule, 1});
    }
    for (absl::Span<const Rule> theme : CanonicalizeRules()) themes.push_back(theme);
    return ApplyRules(module, context, themes);
  }

 private:
  std::string rule_;
};

}  // namespace

absl::Span<const PlantedRule> PlantedRules() {
  static const auto& rules = *[] {
    auto* all = new std::vector<PlantedRule>;
    for (absl::Span<const PlantedRule> table :
         {ArithmeticFaults(), OrderFaults(), StructureFaults()}) {
      all->insert(all->end(), table.begin(), table.end());
    }
    return all;
  }();
  return rules;
}

std::unique_ptr<Pass> CreatePlantedPass() { return std::make_unique<PlantedPass>(); }

}  // namespace weft::faults
