// Constants and facts about symbols, which a plan shares with the plans nested in it.
//
// Functions that read a plan may be called by several threads at once.
#ifndef WEFT_LOWERING_PLAN_FACTS_H_
#define WEFT_LOWERING_PLAN_FACTS_H_

#include <memory>
#include <vector>

#include "lowering/plan.h"

namespace weft {

class SymbolTable;
struct PlanConstant;
struct PlanConstants;

// The facts about its symbols; an empty table where it has none.
const SymbolTable& FactsOf(const Plan& plan);

// Null: there is no constant of this number.
const PlanConstant* FindConstant(const Plan& plan, int number);

// The plan and all plans nested in it, outer before inner.
std::vector<Plan*> AllPlans(Plan* plan);

// Gives the plan and those nested in it what `facts` says of the symbols that they mention in
// types, buffers, views and conditions, and of all symbols that conditions tie to these. Each
// symbol that is mentioned is declared afterwards. Near-linear in the plans and in the facts.
void SetFacts(const SymbolTable& facts, Plan* plan);

// Gives the plan and those nested in it these constants.
void SetConstants(std::shared_ptr<const PlanConstants> constants, Plan* plan);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_FACTS_H_
