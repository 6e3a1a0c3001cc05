// Evaluates steps on the host, for executors that have no code for them, and for checks of
// executors that have.
//
// The runtime does not depend on ops, so this interface gives it evaluation and costs.
#ifndef WEFT_BACKENDS_RUNTIME_STEP_EVALUATOR_H_
#define WEFT_BACKENDS_RUNTIME_STEP_EVALUATOR_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/symbol_env.h"
#include "graph/ir/attr.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"
#include "profiler/description.h"

namespace weft {

class StepEvaluator {
 public:
  virtual ~StepEvaluator() = default;

  // The results of a step that is neither a kernel nor control flow, epilogue included. `attrs` are
  // the step's with values for symbols; `operands` are invalid if absent.
  virtual absl::StatusOr<std::vector<HostTensor>> Evaluate(
      const Step& step, const AttrList* attrs, absl::Span<const HostTensor> operands) const = 0;
  // True if the results depend on data, so that sizes or values may break the declared ones without
  // an error in the compiler.
  virtual bool DependsOnData(const Step& step) const = 0;
  // Adds operations and bytes for a trace.
  virtual void AddToProfile(const Plan& plan, const Step& step, const SymbolEnv& env,
                            profiler::Description* description) const = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_EVALUATOR_H_
