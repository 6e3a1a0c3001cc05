// The constants of a plan and its nested plans.
#ifndef WEFT_LOWERING_PLAN_CONSTANTS_H_
#define WEFT_LOWERING_PLAN_CONSTANTS_H_

#include <map>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace weft {

// The elements of a constant, or of a part of it, as a routine reads them.
struct PackedConstant {
  // Names the layout, the part, and the routine that knows it; others ignore the copy.
  std::string layout;
  HostTensor data;
};

struct PlanConstant {
  // Shares its memory with the module that the plan was made from, and with that module's other
  // plans.
  HostTensor tensor;
  // Name of the model's parameter; empty for other constants.
  std::string name;
  // Copies that came with the plan from a file; one for each layout. They are not in its text.
  std::vector<PackedConstant> packed;
};

// Constants by the number that buffers and inputs use. Numbers may have gaps.
struct PlanConstants {
  std::map<int, PlanConstant> by_number;
};

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_CONSTANTS_H_
