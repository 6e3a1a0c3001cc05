// Runs cond, loop and scan, which graph/ops/control defines: which nested plan runs, how often, and
// on which tensors.
//
// Tensors stay where the run keeps them. Rows of scanned tensors are read where they lie, and
// nested plans store their rows of stacked results where these lie, both if the rows are aligned.
// The host reads conditions and numbers of steps alone.
#ifndef WEFT_BACKENDS_RUNTIME_CONTROL_FLOW_H_
#define WEFT_BACKENDS_RUNTIME_CONTROL_FLOW_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/tensor_memory.h"
#include "graph/ir/attr.h"
#include "graph/tensor/type.h"
#include "lowering/plan.h"

namespace weft {

struct ControlFlow {
  // Runs a nested plan. An output that is valid on entry is memory for it, which the plan may use.
  using RunRegion = absl::FunctionRef<absl::Status(
      int region, absl::Span<const DeviceTensor> inputs, std::vector<DeviceTensor>* outputs)>;
  // The memory of a result whose size is known; invalid if it cannot be written directly.
  using ResultMemory = absl::FunctionRef<absl::StatusOr<DeviceTensor>(int result)>;

  const Step& step;
  const AttrList* attrs;                    // With values for symbols.
  absl::Span<const DeviceTensor> operands;  // Invalid if absent.
  absl::Span<const Type> types;             // Of the results, as far as they are known.
  TensorMemory& memory;
  RunRegion run_region;
  ResultMemory result_memory;

  // One tensor per result. InvalidArgument if the step, or what a nested plan gives, does not fit.
  absl::StatusOr<std::vector<DeviceTensor>> Run() const;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_CONTROL_FLOW_H_
