#include "backends/cpu/step_profile.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/profile_names.h"
#include "graph/ir/op.h"
#include "lowering/step_cost.h"

namespace weft::cpu {
namespace {

profiler::TensorDescription Tensor(const RunView& view) {
  profiler::TensorDescription tensor;
  if (!view.present()) return tensor;
  tensor.type = ProfileTypeName(view.dtype);
  tensor.dims.assign(view.dims.begin(), view.dims.end());
  tensor.strides.assign(view.strides.begin(), view.strides.end());
  return tensor;
}

const char* RunnerOf(const StepCode& code) {
  if (code.generated != nullptr) return "generated";
  if (code.program != nullptr) return "interpreter";
  return code.call != nullptr ? "library" : "reference";
}

}  // namespace

std::string ProfileName(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::kKernel) return plan.kernels[step.kernel].name;
  if (step.kind == StepKind::kCopy) return "copy";
  return std::string(step.op->name());
}

void DescribeForProfile(const Plan& plan, const Step& step, const SymbolEnv& env, int threads,
                        StepCode* code) {
  const char* runner = RunnerOf(*code);
  if (code->profiled_as == runner) return;
  code->profiled_as = runner;
  code->profile_name = profiler::InternName(ProfileName(plan, step));
  profiler::Description d;
  for (const RunView& view : code->args) d.inputs.push_back(Tensor(view));
  for (const RunView& view : code->results) d.outputs.push_back(Tensor(view));
  const StepCost cost = CostOf(plan, step);
  d.flops = env.Eval(cost.flops).value_or(-1);
  d.bytes = env.Eval(cost.bytes).value_or(-1);
  d.threads = threads;
  d.kernel = runner;
  if (code->call != nullptr) absl::StrAppend(&d.kernel, ":", code->call->name());
  for (const SymbolInfo& info : plan.module->symbols().symbols()) {
    const auto value = env.Eval(info.symbol);
    if (value) d.symbols.emplace_back(info.symbol.ToString(), *value);
  }
  d.provenance = ProfileSources(*plan.module, step.provenance);
  d.rules = ProfileRules(*plan.module, step.origin);
  code->profile_description = profiler::DescriptionHandle(std::move(d));
}

}  // namespace weft::cpu
