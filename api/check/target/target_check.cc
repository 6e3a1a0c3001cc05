#include "api/check/target/target_check.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/check/planned_runs.h"
#include "api/check/target/plan_check.h"
#include "api/compiler.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "lowering/lower.h"

namespace weft {
namespace {

// Programs that compute more elements than this per run get few runs, or one.
constexpr int64_t kFewElements = int64_t{1} << 14;
constexpr int64_t kManyElements = int64_t{1} << 21;

// Magnitudes whose squares and products are far from overflow.
constexpr double kTame = 16;

// Calls a test's function before the observer of the check.
class FirstObserver : public StepObserver {
 public:
  FirstObserver(StepObserver* check, std::function<void(const ObservedStep&)> after_step)
      : check_(check), after_step_(std::move(after_step)) {}
  absl::Status BeginRun(const Plan& plan, absl::Span<const HostTensor> inputs,
                        const SymbolEnv& env) override {
    return check_->BeginRun(plan, inputs, env);
  }
  absl::Status BeforeStep(const ObservedStep& step) override { return check_->BeforeStep(step); }
  absl::Status AfterStep(const ObservedStep& step) override {
    if (after_step_) after_step_(step);
    return check_->AfterStep(step);
  }
  absl::Status EndRun(const Plan& plan, absl::Span<const HostTensor> outputs) override {
    return check_->EndRun(plan, outputs);
  }

 private:
  StepObserver* const check_;
  const std::function<void(const ObservedStep&)> after_step_;
};

bool HasLoops(const Module& module) {
  for (const Graph* graph : module.AllGraphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->Is(ops::loop)) return true;
    }
  }
  return false;
}

// Replaces large numbers, whose sums may overflow depending on the order, by small ones. Infinities
// and NaN stay unless `finite` is set.
HostTensor WithoutExtremes(const HostTensor& tensor, bool finite) {
  if (!tensor.valid() || !IsFloat(tensor.dtype())) return tensor;
  std::vector<double> values = tensor.ReadDoubles();
  for (double& x : values) {
    if (finite && std::isnan(x)) x = 1;
    if ((finite || std::isfinite(x)) && std::abs(x) > kTame) x = std::copysign(kTame, x);
  }
  HostTensor tame(tensor.dtype(), tensor.dims());
  tame.WriteDoubles(values);
  return tame;
}

const Value* BehindMoves(const Value* value) {
  while (value->node() != nullptr && value->node()->op().has(kDataMovement)) {
    value = value->node()->operand(0);
  }
  return value;
}

// Finds the inputs of the graph that reach convolutions as weights through nodes that move data.
void FindConvolutionWeights(const Graph& graph, absl::Span<const Value* const> operands,
                            absl::flat_hash_set<const Value*>* weights) {
  for (const Node* node : graph.nodes()) {
    if (node->Is(ops::fused)) {
      std::vector<const Value*> inner;
      for (int i = 0; i < node->num_operands(); ++i) inner.push_back(node->operand(i));
      FindConvolutionWeights(*node->region(0), inner, weights);
    }
    if (!node->Is(ops::convolution)) continue;
    const Value* weight = BehindMoves(ops::ConvolutionView(*node).weight());
    if (weight->is_input() && !operands.empty()) weight = BehindMoves(operands[weight->index()]);
    if (weight->is_input()) weights->insert(weight);
  }
}

}  // namespace

struct TargetChecker::Impl {
  std::unique_ptr<Module> module;
  TargetCheckOptions options;
  std::unique_ptr<PlanCheck> check;
  std::unique_ptr<FirstObserver> observer;
  std::unique_ptr<Executable> executable;
};

TargetChecker::TargetChecker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TargetChecker::~TargetChecker() = default;

const Module& TargetChecker::module() const { return *impl_->module; }

absl::StatusOr<std::unique_ptr<TargetChecker>> TargetChecker::Create(
    std::unique_ptr<Module> module, const TargetCheckOptions& options) {
  const BackendRegistry& backends =
      options.backends == nullptr ? BuiltinBackends() : *options.backends;
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, backends.Find(options.target));
  if (!backend->runs_plans()) {
    return absl::InvalidArgumentError(absl::StrCat("targets are checked against the reference; ",
                                                   options.target, " has no plan to check"));
  }
  WEFT_RETURN_IF_ERROR(CheckOptions(*backend, options.backend));
  WEFT_RETURN_IF_ERROR(CheckHasMain(*module));
  WEFT_RETURN_IF_ERROR(MakeFunctional(*module));
  LoweringOptions lowering;
  lowering.record_values = true;
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(*module->main(), backend->target(), lowering));
  if (options.edit_plan) options.edit_plan(&plan);
  auto impl = std::make_unique<Impl>();
  impl->check = std::make_unique<PlanCheck>(*module->main());
  impl->observer = std::make_unique<FirstObserver>(impl->check.get(), options.after_step);
  ExecutableHooks hooks;
  hooks.observer = impl->observer.get();
  hooks.guard_memory = options.guard_memory;
  WEFT_ASSIGN_OR_RETURN(impl->executable,
                        backend->Compile(*module->main(), std::move(plan), options.backend, hooks));
  // Without a compiler the interpreter runs, and is checked.
  impl->executable->WaitForCode().IgnoreError();
  impl->module = std::move(module);
  impl->options = options;
  return std::unique_ptr<TargetChecker>(new TargetChecker(std::move(impl)));
}

absl::Status TargetChecker::Check(absl::Span<const HostTensor> inputs, TargetCheckResult* result) {
  const Graph& graph = *impl_->module->main();
  std::vector<HostTensor> filled(inputs.begin(), inputs.end());
  for (size_t i = 0; i < filled.size() && i < static_cast<size_t>(graph.num_inputs()); ++i) {
    const InputInfo& info = graph.input_info(static_cast<int>(i));
    const int id = info.value >= 0 ? info.value : info.initial;
    if (!filled[i].valid() && id >= 0) filled[i] = impl_->module->constants().tensor(id);
  }
  const int refused = result->refused;
  CheckInputs(filled, "the inputs given", result);
  if (result->refused == refused) return absl::OkStatus();
  return absl::InvalidArgumentError(result->refusal);
}

void TargetChecker::CheckInputs(absl::Span<const HostTensor> inputs, std::string run,
                                TargetCheckResult* result) {
  if (result->differs()) return;
  PlanCheck& check = *impl_->check;
  check.Reset();
  std::vector<HostTensor> outputs;
  std::vector<HostTensor> written;
  const absl::Status status = impl_->executable->Run(inputs, {}, &outputs, &written);
  if (!status.ok()) check.RunFailed(status);
  result->difference = check.difference();
  result->stats = check.stats();
  if (result->differs()) {
    result->run = std::move(run);
  } else if (!status.ok()) {
    ++result->refused;
    result->refusal = std::string(status.message());
  } else {
    ++result->runs;
  }
}

void TargetChecker::CheckSeeded(const SeedOptions& first, TargetCheckResult* result) {
  const Graph& graph = *impl_->module->main();
  const bool edges = !HasLoops(*impl_->module);
  // With a weight that is infinite or NaN, padding gives NaN in the reference but nothing in a
  // routine that skips padding; neither is wrong, so such weights are excluded.
  absl::flat_hash_set<const Value*> finite;
  FindConvolutionWeights(graph, {}, &finite);
  std::vector<PlannedRun> runs = {PlannedRun()};
  for (size_t i = 0; i < runs.size() && !result->differs(); ++i) {
    SeedOptions seed = i == 0 ? first : SeedOptions();
    seed.seed = first.seed + i;
    seed.values = runs[i].values;
    seed.sizes = runs[i].sizes;
    auto inputs = MakeSeededInputs(graph, seed);
    const bool edge = seed.values >= SeedOptions::Values::kEdge;
    const int64_t before = result->stats.elements;
    if (!inputs.ok()) {
      ++result->refused;
      result->refusal = std::string(inputs.status().message());
    } else {
      for (int k = 0; edge && k < graph.num_inputs(); ++k) {
        const bool weight = finite.contains(graph.input(k));
        (*inputs)[k] = WithoutExtremes((*inputs)[k], weight);
      }
      CheckInputs(*inputs, absl::StrCat("seed ", seed.seed, edge ? ", edge values" : ""), result);
    }
    if (i > 0) continue;
    const int64_t elements = result->stats.elements - before;
    if (elements > kManyElements) return;
    const bool few = inputs.ok() && elements <= kFewElements;
    runs = PlanRuns(graph, edges, few ? impl_->options.more_runs : 0);
  }
}

std::string TargetCheckResult::ToString() const {
  if (differs()) return absl::StrCat("in the run on ", run, ":\n", difference->ToString());
  std::string text = absl::StrCat(stats.steps, " steps, ", stats.values, " values in ", runs,
                                  " runs agree with the reference");
  if (refused > 0) absl::StrAppend(&text, "; ", refused, " runs refused: ", refusal);
  return text;
}

absl::StatusOr<TargetCheckResult> CheckOnTarget(const Module& module,
                                                const TargetCheckOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<TargetChecker> checker,
                        TargetChecker::Create(module.Clone(), options));
  SeedOptions first;
  first.seed = options.seed;
  TargetCheckResult result;
  checker->CheckSeeded(first, &result);
  // The graph does not outlive the checker.
  if (result.differs()) result.difference->node = nullptr;
  return result;
}

}  // namespace weft
