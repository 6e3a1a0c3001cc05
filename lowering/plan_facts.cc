#include "lowering/plan_facts.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "lowering/plan_constants.h"

namespace weft {
namespace {

// The symbols that plans mention, in order of first mention.
class Mentions {
 public:
  void Add(const Plan& plan) {
    Add(plan.input_views);
    Add(plan.output_views);
    for (const PlanInput& input : plan.inputs) Add(input.type);
    for (const Buffer& buffer : plan.buffers) Add(buffer.numel);
    for (const PlanCondition& c : plan.conditions) Add(c.condition);
    for (const Step& step : plan.steps) {
      Add(step.args);
      Add(step.results);
    }
  }

  // The list grows while conditions lead from its symbols to others.
  void AddTied(const SymbolTable& facts) {
    std::vector<bool> seen(facts.conditions().size(), false);
    for (size_t i = 0; i < symbols_.size(); ++i) {
      for (int c : facts.ConditionsAbout(symbols_[i])) {
        if (seen[c]) continue;
        seen[c] = true;
        Add(facts.conditions()[c].condition);
      }
    }
  }

  const std::vector<SymInt>& symbols() const { return symbols_; }
  bool Has(SymInt symbol) const { return known_.contains(symbol); }

 private:
  void Add(SymInt size) {
    if (!size.is_valid() || size.is_constant()) return;
    ForEachSymbol(size, [this](SymInt symbol) {
      if (known_.insert(symbol).second) symbols_.push_back(symbol);
    });
  }

  void Add(Type type) {
    if (type.is_symint()) return Add(type.symint());
    if (!type.is_tensor() || !types_.insert(type).second) return;
    for (SymInt dim : type.dims()) Add(dim);
  }

  void Add(absl::Span<const View> views) {
    for (const View& view : views) {
      Add(view.type);
      Add(view.offset);
      for (SymInt stride : view.strides) Add(stride);
    }
  }

  std::vector<SymInt> symbols_;
  absl::flat_hash_set<SymInt> known_;
  absl::flat_hash_set<Type> types_;
};

template <typename P>
std::vector<P*> WithNested(P* plan) {
  std::vector<P*> plans = {plan};
  for (size_t i = 0; i < plans.size(); ++i) {
    for (const Step& step : plans[i]->steps) {
      for (const auto& region : step.regions) plans.push_back(region.get());
    }
  }
  return plans;
}

}  // namespace

const SymbolTable& FactsOf(const Plan& plan) {
  static const auto& none = *new SymbolTable();
  return plan.symbols == nullptr ? none : *plan.symbols;
}

const PlanConstant* FindConstant(const Plan& plan, int number) {
  if (plan.constants == nullptr) return nullptr;
  const auto it = plan.constants->by_number.find(number);
  return it == plan.constants->by_number.end() ? nullptr : &it->second;
}

std::vector<Plan*> AllPlans(Plan* plan) { return WithNested(plan); }
std::vector<const Plan*> AllPlans(const Plan& plan) { return WithNested(&plan); }

void SetFacts(const SymbolTable& facts, Plan* plan) {
  const std::vector<Plan*> plans = AllPlans(plan);
  Mentions mentions;
  for (const Plan* p : plans) mentions.Add(*p);
  mentions.AddTied(facts);
  std::vector<SymInt> others;
  for (const SymbolInfo& info : facts.symbols()) {
    if (!mentions.Has(info.symbol)) others.push_back(info.symbol);
  }
  auto own = std::make_shared<SymbolTable>(facts);
  own->Remove(others);
  for (SymInt symbol : mentions.symbols()) {
    SymbolInfo info;
    info.symbol = symbol;
    if (own->Find(symbol) == nullptr) own->Declare(info);
  }
  const std::shared_ptr<const SymbolTable> shared = std::move(own);
  for (Plan* p : plans) p->symbols = shared;
}

void SetConstants(std::shared_ptr<const PlanConstants> constants, Plan* plan) {
  for (Plan* p : AllPlans(plan)) p->constants = constants;
}

}  // namespace weft
