// Kernels that a routine runs on its result before it stores it (Step::kernel of a library step).
//
// Such a kernel computes each element of the step's result from the element of the routine's result
// at the same place, and from elements of other arguments of the step; its body knows no places.
// Its argument 0 is the routine's result, which has no buffer; the last arguments of the step,
// behind those of the op, are its others. It has one nest, whose loops are the dims of the result
// in their order.
#ifndef WEFT_LOWERING_FINISH_KERNEL_H_
#define WEFT_LOWERING_FINISH_KERNEL_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lowering/plan.h"

namespace weft {

// True if a routine runs the step's kernel on its result.
bool IsFinished(const Step& step);

// Unimplemented, with the reason, unless the kernel can finish a result with these dims.
absl::Status CheckFinish(const Kernel& kernel, absl::Span<const SymInt> dims);

// For a kernel that CheckFinish accepts: the strides of the routine's result, by dim.
std::vector<SymInt> UnfinishedStrides(const Kernel& kernel);

// The number of arguments of the step that are the op's own. Below 0: the kernel has more.
int NumOwnArgs(const Plan& plan, const Step& step);

}  // namespace weft

#endif  // WEFT_LOWERING_FINISH_KERNEL_H_
