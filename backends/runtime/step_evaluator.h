// Steps on the host, for executors that have no code for them, and for checks of those that have.
//
// The runtime knows plans alone. Evaluation and costs, which take the ops themselves, come through
// this interface.
#ifndef WEFT_BACKENDS_RUNTIME_STEP_EVALUATOR_H_
#define WEFT_BACKENDS_RUNTIME_STEP_EVALUATOR_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/symbol_env.h"
#include "graph/ir/attr.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "lowering/plan.h"
#include "profiler/description.h"

namespace weft {

class StepEvaluator {
 public:
  virtual ~StepEvaluator() = default;

  // Runs a nested plan of the step.
  using RegionRunner = absl::FunctionRef<absl::Status(
      int region, absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs)>;

  // The results of a step that is no kernel, epilogue included. `attrs` are the step's without
  // symbols; `operands` are those of the step, invalid where absent; `types` are those of the
  // results as far as they are known.
  virtual absl::StatusOr<std::vector<HostTensor>> Evaluate(const Step& step, const AttrList* attrs,
                                                           absl::Span<const HostTensor> operands,
                                                           std::vector<Type> types,
                                                           RegionRunner run_region) const = 0;
  // The results may have sizes or values that break the declared ones through no fault of the
  // program: they depend on data.
  virtual bool DependsOnData(const Step& step) const = 0;
  // Adds operations and bytes for a trace.
  virtual void AddToProfile(const Plan& plan, const Step& step, const SymbolEnv& env,
                            profiler::Description* description) const = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_EVALUATOR_H_
