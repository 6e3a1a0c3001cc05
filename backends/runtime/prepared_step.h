// A step of a plan for one assignment of its symbols, ready to run.
#ifndef WEFT_BACKENDS_RUNTIME_PREPARED_STEP_H_
#define WEFT_BACKENDS_RUNTIME_PREPARED_STEP_H_

#include <memory>
#include <vector>

#include "backends/runtime/run_view.h"
#include "backends/runtime/step_launcher.h"
#include "graph/ir/attr.h"
#include "lowering/plan.h"
#include "profiler/description.h"
#include "profiler/names.h"

namespace weft {

struct PreparedStep {
  std::vector<RunView> args;
  std::vector<RunView> results;     // None of a step that is evaluated on the host by its kind.
  const AttrList* attrs = nullptr;  // Without symbols; null for a step that has none.
  std::unique_ptr<StepCode> code;   // Null: the step is evaluated on the host.
  // Addresses for the launch, filled in before each: arguments, then results.
  std::vector<void*> memory;
  std::vector<float> bounds;  // By argument.
  // The first result fills its buffer.
  bool fills_buffer = false;
  // Its runner (StepCode::runner) when it was described for a trace; null before.
  const char* profiled_as = nullptr;
  profiler::NameId profile_name = 0;
  profiler::DescriptionHandle profile_description;
};

// The kind says that the host evaluates it: its results may have sizes that only that tells.
inline bool RunsOnHost(const Step& step) {
  return step.kind == StepKind::kReference || step.kind == StepKind::kControl;
}

// True when all symbols of the step have values, those of the results of a step that runs on the
// host aside.
bool IsKnown(const Plan& plan, const Step& step, const SymbolEnv& env);

// The step's attributes with values for symbols; null for a step that has none.
const AttrList* AttrsOf(const Step& step, const SymbolEnv& env);

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_PREPARED_STEP_H_
