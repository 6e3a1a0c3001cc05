// The constants of a plan and its nested plans.
#ifndef WEFT_LOWERING_PLAN_CONSTANTS_H_
#define WEFT_LOWERING_PLAN_CONSTANTS_H_

#include <map>
#include <string>

#include "graph/tensor/tensor.h"

namespace weft {

struct PlanConstant {
  // Shares its memory with the module that the plan was made from, and with that module's other
  // plans.
  HostTensor tensor;
  // Name of the model's parameter; empty for other constants.
  std::string name;
};

// Constants by the number that buffers and inputs use. Numbers may have gaps.
struct PlanConstants {
  std::map<int, PlanConstant> by_number;
};

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_CONSTANTS_H_
