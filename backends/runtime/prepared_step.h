// A step prepared to run for one assignment of the plan's symbols.
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
  // Empty for a kind without code; set in each run if the step finds their sizes.
  std::vector<RunView> results;
  const AttrList* attrs = nullptr;  // With values for symbols; null for a step without attributes.
  std::unique_ptr<StepCode> code;   // Null: the step is evaluated on the host, or control flow.
  // Addresses for the launch, filled in before each: arguments, then results.
  std::vector<void*> memory;
  std::vector<float> bounds;  // Upper bounds of magnitudes, by argument.
  // The first result covers its whole buffer.
  bool fills_buffer = false;
  // Runner (StepCode::runner) at the time of its description for a trace; null before that.
  const char* profiled_as = nullptr;
  profiler::NameId profile_name = 0;
  profiler::DescriptionHandle profile_description;
};

// True for kinds that a launcher has no code for.
inline bool HasNoCode(const Step& step) {
  return step.kind == StepKind::kReference || step.kind == StepKind::kControl;
}

// True if the step may give symbols their values: those in the types of its results.
inline bool MayFindSizes(const Step& step) { return HasNoCode(step) || step.finds_sizes; }

// True if all symbols of the step have values; those in the results of a step that may find sizes
// do not count.
bool IsKnown(const Plan& plan, const Step& step, const SymbolEnv& env);

// The step's attributes with values for symbols; null for a step without attributes.
const AttrList* AttrsOf(const Step& step, const SymbolEnv& env);

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_PREPARED_STEP_H_
