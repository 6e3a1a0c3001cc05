// The kernels and routines that plans need, as lines of a list (kernels/kernel_list.h).
#ifndef WEFT_BACKENDS_CPU_STANDALONE_NEEDED_KERNELS_H_
#define WEFT_BACKENDS_CPU_STANDALONE_NEEDED_KERNELS_H_

#include <string>
#include <vector>

#include "lowering/plan.h"

namespace weft::cpu {

// All that the plan and its nested plans need, but for the instruction set: "dtype f32", "routine
// matmul". Sorted, each once. Ops without a routine need none.
std::vector<std::string> NeededKernels(const Plan& plan);

// Those that this program is built without.
std::vector<std::string> MissingKernels(const Plan& plan);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STANDALONE_NEEDED_KERNELS_H_
