// Constants and facts about symbols, which a plan shares with its nested plans.
//
// Functions that read a plan are thread-safe.
#ifndef WEFT_LOWERING_PLAN_FACTS_H_
#define WEFT_LOWERING_PLAN_FACTS_H_

#include <memory>
#include <vector>

#include "lowering/plan.h"

namespace weft {

class SymbolTable;
struct PlanConstant;
struct PlanConstants;

// The facts about its symbols; an empty table if it has none.
const SymbolTable& FactsOf(const Plan& plan);

// Null if there is no constant with this number.
const PlanConstant* FindConstant(const Plan& plan, int number);

// The plan and all its nested plans, outer before inner.
std::vector<Plan*> AllPlans(Plan* plan);
std::vector<const Plan*> AllPlans(const Plan& plan);

// Gives the plan and its nested plans the facts about the symbols that they mention in types,
// buffers, views and conditions, and about all symbols that conditions relate to these. Each
// mentioned symbol is declared afterwards. Near-linear in the plans and in the facts.
void SetFacts(const SymbolTable& facts, Plan* plan);

// Sets the constants of the plan and its nested plans.
void SetConstants(std::shared_ptr<const PlanConstants> constants, Plan* plan);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_FACTS_H_
