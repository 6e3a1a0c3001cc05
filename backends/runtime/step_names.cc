#include "backends/runtime/step_names.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sym/sym_facts.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

std::string NameOf(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::kKernel) return plan.kernels[step.kernel].name;
  if (step.kind == StepKind::kCopy) return "copy";
  return step.op_name;
}

profiler::TensorDescription Tensor(const RunView& view) {
  profiler::TensorDescription tensor;
  if (!view.present()) return tensor;
  tensor.type = ProfileTypeName(view.dtype);
  tensor.dims.assign(view.dims.begin(), view.dims.end());
  tensor.strides.assign(view.strides.begin(), view.strides.end());
  return tensor;
}

}  // namespace

// Kineto uses C's names.
std::string ProfileTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
      return "c10::Half";
    case DType::kBF16:
      return "c10::BFloat16";
    case DType::kI64:
      return "long int";
    case DType::kI32:
      return "int";
    case DType::kI16:
      return "short int";
    case DType::kI8:
      return "signed char";
    case DType::kU8:
      return "unsigned char";
    case DType::kBool:
      return "bool";
    default:
      return std::string(DTypeName(dtype));
  }
}

std::string DescribeStep(const Plan& plan, const Step& step) {
  constexpr size_t kMaxNames = 3;
  std::vector<std::string> names;
  if (step.source != nullptr) names = step.source->nodes;
  names.resize(std::min(names.size(), kMaxNames));
  const bool launch = step.kind == StepKind::kKernel && step.op == nullptr;
  return absl::StrCat(
      "node ", step.node, " (", launch ? "kernel @" : "", NameOf(plan, step),
      names.empty() ? "" : absl::StrCat(" from \"", absl::StrJoin(names, "\", \""), "\""), ")");
}

void DescribeForProfile(const Plan& plan, const Step& step, const SymbolEnv& env,
                        const StepEvaluator* evaluator, PreparedStep* prepared) {
  const StepCode* code = prepared->code.get();
  const char* without = step.kind == StepKind::kControl ? "control" : "reference";
  const char* runner = code == nullptr ? without : code->runner();
  if (prepared->profiled_as == runner) return;
  prepared->profiled_as = runner;
  prepared->profile_name = profiler::InternName(NameOf(plan, step));
  profiler::Description d;
  for (const RunView& view : prepared->args) d.inputs.push_back(Tensor(view));
  for (const RunView& view : prepared->results) d.outputs.push_back(Tensor(view));
  d.threads = code == nullptr ? 1 : code->threads();
  const std::string routine = code == nullptr ? "" : code->routine();
  d.kernel = absl::StrCat(runner, routine.empty() ? "" : ":", routine);
  for (const SymbolInfo& info : FactsOf(plan).symbols()) {
    const auto value = env.Eval(info.symbol);
    if (value) d.symbols.emplace_back(info.symbol.ToString(), *value);
  }
  if (step.source != nullptr) {
    d.provenance = step.source->nodes;
    d.rules = step.source->rules;
  }
  if (evaluator != nullptr) evaluator->AddToProfile(plan, step, env, &d);
  prepared->profile_description = profiler::DescriptionHandle(std::move(d));
}

}  // namespace weft
